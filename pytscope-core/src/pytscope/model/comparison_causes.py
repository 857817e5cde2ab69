"""Names of the causes of a divergence, for programs: they stay when a title is reworded."""

from __future__ import annotations

import enum


class CauseId(enum.Enum):
    """What makes two runs part.

    `A_or_B` is one cause of which the recorded values cannot tell which it is. A
    part before a dot is a family: `resume.loader` is one of several losses of a
    resume. Names are only added.
    """

    SEED = "seed"
    DATA_ORDER = "data_order"
    DATA_ORDER_OR_DATA = "data_order_or_data"
    DATA_ORDER_OR_AUGMENTATION = "data_order_or_augmentation"
    DATA = "data"
    DATA_SETTINGS = "data_settings"
    SAMPLE_CONTENTS = "sample_contents"
    BATCH_VALUES_OR_DTYPE = "batch_values_or_dtype"
    LATER_BATCHES = "later_batches"
    AUGMENTATION = "augmentation"
    AUGMENTATION_OWN_GENERATOR = "augmentation.own_generator"
    AUGMENTATION_WORKERS = "augmentation.workers"
    UNSEEDED_GENERATORS = "unseeded_generators"

    MODEL = "model"
    INITIAL_WEIGHTS = "initial_weights"
    INITIAL_WEIGHTS_OR_MODEL_RANDOMNESS = "initial_weights_or_model_randomness"
    MODEL_RANDOMNESS = "model_randomness"
    PRECISION = "precision"

    OPTIMIZER = "optimizer"
    SKIPPED_STEP = "skipped_step"
    NONDETERMINISM = "nondeterminism"
    LEARNING_RATE = "learning_rate"
    LEARNING_RATE_SETTINGS = "learning_rate_settings"
    SCHEDULE = "schedule"

    RESUME_CHANGED = "resume.changed"
    RESUME_OPTIMIZER_STATE = "resume.optimizer_state"
    RESUME_LOADER = "resume.loader"
    RESUME_SCHEDULE = "resume.schedule"
    RESUME_LEARNING_RATE = "resume.learning_rate"
    RESUME_WEIGHTS = "resume.weights"
    RESUME_WEIGHTS_OR_RANDOM_STATE = "resume.weights_or_random_state"
    RESUME_WEIGHTS_OR_RANDOM_STATE_OR_LOADER = "resume.weights_or_random_state_or_loader"
    RESUME_UNKNOWN = "resume.unknown"

    SETTINGS = "settings"
    PARALLELISM = "parallelism"
    CODE = "code"
    KERNELS = "kernels"
    PACKAGES = "packages"
    DEVICE = "device"
    DRIVER = "driver"
    ENVIRONMENT = "environment"
    COMMAND_LINE = "command_line"
    EVALUATION = "evaluation"
    STEP_NUMBERS_OR_RESUME = "step_numbers_or_resume"
    UNKNOWN = "unknown"
