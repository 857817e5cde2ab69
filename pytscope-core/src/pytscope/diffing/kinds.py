"""What a fact is about, and whether a difference in it changes a run's numbers."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import attrs

from pytscope.diffing.words import last_part, words_of
from pytscope.model.comparison import Kind, Likelihood

RATE = "The learning rate is not the same."
"""Why a difference in a setting of the learning rate counts; it marks such settings."""
YES, PERHAPS, HARDLY = Likelihood.YES, Likelihood.PERHAPS, Likelihood.HARDLY


@attrs.frozen
class Sort:
    """What is known of a fact by its name.

    Attributes:
        kind: What it is about.
        likelihood: Whether a difference changes numbers.
        why: A sentence, or an empty string.
    """

    kind: Kind
    likelihood: Likelihood
    why: str = ""


_RECORDED = (
    (r"data\.", Kind.DATA, YES, "The batches of the same steps are not the same."),
    (r"micro_batches", Kind.DATA, YES, "A step sees another number of batches."),
    (r"torch\.loaders\[\d+\]\.(num_workers|prefetch_factor|pin_memory|persistent_workers)",
     Kind.DATA, PERHAPS, "Workers draw random numbers of their own."),
    (r"torch\.loaders\[\d+\]\.(order\.)?(generator_)?seed", Kind.DATA, YES,
     "The order of the samples is drawn from it."),
    (r"torch\.loaders\[\d+\]\.after_steps", Kind.DATA, PERHAPS,
     "A loader is used from another step on."),
    (r"torch\.loaders", Kind.DATA, YES, "The loader makes other batches."),
    (r"torch\.initial_seed", Kind.SEED, YES, "Initial weights, order and dropout come from it."),
    (r"seeds\.PYTHONHASHSEED", Kind.SEED, PERHAPS, "Sets of texts are walked in another order."),
    (r"(seeds|torch\.random_states\w*|torch\.initial_random_states)\.", Kind.SEED, PERHAPS,
     "This generator was in another state: it matters where something draws from it."),
    (r"torch\.initial_weights", Kind.WEIGHTS, YES, "Training begins from other weights."),
    (r"torch\.weights", Kind.WEIGHTS, PERHAPS, "Weights differ after the first step."),
    (r"(torch\.)?model\.\w*dtype", Kind.PRECISION, YES, "Arithmetic rounds in another way."),
    (r"(torch\.)?model\.(parameters|trained)", Kind.WEIGHTS, YES, "It is another model."),
    (r"model\.\w*bytes", Kind.PRECISION, PERHAPS, "Another element type or another model."),
    (r"torch\.(\w+\.)?(\w*_)?dtypes?", Kind.PRECISION, YES, "Arithmetic rounds in another way."),
    (r"torch\.optimizer\.(state_at_start|steps_after_first)", Kind.WEIGHTS, PERHAPS,
     "The optimizer remembers other steps."),
    (r"torch\.optimizer\.groups\[\d+\]\.(initial_)?lr", Kind.CONFIG, YES, RATE),
    (r"torch\.optimizers?", Kind.CONFIG, YES, "Weights are updated in another way."),
    (r"git\.(sha|dirty|diff_sha256)", Kind.CODE, PERHAPS, "The code is not the same."),
    (r"git\.", Kind.CODE, HARDLY),
    (r"torch\.autocast", Kind.PRECISION, YES, "Arithmetic rounds in another way."),
    (r"torch\.precision", Kind.PRECISION, PERHAPS, "Matrix products may round in another way."),
    (r"(torch\.)?(determinism\.|cudnn_(benchmark|deterministic))", Kind.DETERMINISM, PERHAPS,
     "Other kernels may run, which add in another order."),
    (r"torch\.compile", Kind.DETERMINISM, PERHAPS, "Fused code adds in another order."),
    (r"world_size", Kind.PARALLELISM, YES, "Every rank gets another share of the data."),
    (r"torch\.parallelism|topology\.(source|captured|unseen|clock|host|rank|local_rank)",
     Kind.PARALLELISM, PERHAPS),
    (r"topology\.", Kind.PARALLELISM, YES, "Work is divided in another way."),
    (r"torch\.threads", Kind.PARALLELISM, PERHAPS, "Sums on the CPU are split in another way."),
    (r"torch\.(version|git|cuda|hip|cudnn)|(torch|cuda|cudnn|nccl)(_version)?$", Kind.PACKAGES,
     PERHAPS, "Kernels change between versions."),
    ((r"packages\.(torch|triton|numpy|nvidia-.*|jax.*|tensorflow|transformers|lightning|"
     r"pytorch-lightning|accelerate|deepspeed|flash[-_]attn|xformers|apex|bitsandbytes|peft|"
     r"timm|trl|transformer[-_]engine|megatron.*|diffusers)"), Kind.PACKAGES, PERHAPS,
     "Its arithmetic may change between versions."),
    ((r"packages\.(datasets|tokenizers|pillow|torchvision|torchaudio|torchdata|webdataset|opencv.*|"
     r"albumentations|sentencepiece|scikit-learn|scipy|pandas|pyarrow|librosa|kornia|nltk|spacy)"),
     Kind.PACKAGES, PERHAPS, "What it makes of the data may change between versions."),
    (r"packages\.", Kind.PACKAGES, HARDLY),
    (r"(.*[._])?driver(_version)?", Kind.DRIVER, PERHAPS, "The driver may compile other code."),
    (r"torch\.devices|(torch\.)?device.*|gpus?(_name)?|.*\.gpu_name", Kind.DEVICE, PERHAPS,
     "Devices choose other kernels."),
    (r"flops_per_step", Kind.CONFIG, PERHAPS, "Another amount of work a step."),
    ((r"env\.(RANK|LOCAL_RANK|GROUP_RANK|MASTER_\w+|HOSTNAME|SLURM_\w+|CONDA_\w+|VIRTUAL_ENV|"
     r"TORCHELASTIC_\w+|PYTHONDONTWRITEBYTECODE|TOKENIZERS_PARALLELISM|LD_PRELOAD|\w*CACHE_DIR|"
     r"\w+_(DEBUG|LOG\w*|TIMEOUT\w*))"), Kind.ENVIRONMENT, HARDLY),
    (r"env\.", Kind.ENVIRONMENT, PERHAPS),
    (r"python|implementation", Kind.PACKAGES, PERHAPS,
     "Hashes and the random module's methods may change between versions."),
    (r"host|platform|cpus|executable|hostname|os|user(name)?|name", Kind.HOST, HARDLY),
    (r"argv\.(script)", Kind.COMMAND, PERHAPS, "Another program."),
    (r"argv\.words", Kind.COMMAND, PERHAPS),
)  # fmt: skip
"""Names of recorded facts, the first that fits counts."""
_COMPILED = tuple((re.compile(row[0], re.IGNORECASE), Sort(*row[1:])) for row in _RECORDED)


def sort_of(name: str) -> Sort:
    """What is known of a fact by its name.

    Args:
        name: Its dotted name, such as `config.lr`.
    """
    if name == "config":
        return Sort(Kind.CONFIG, PERHAPS)
    if name in _CALLED:
        return Sort(Kind.CONFIG, HARDLY, "What the run is called.")
    top, _, rest = name.partition(".")
    if top in ("config", "argv") and rest and rest not in ("script", "words"):
        found = _nested(rest)
        if top == "argv" and found.kind is Kind.CONFIG and found.likelihood is PERHAPS:
            return attrs.evolve(found, kind=Kind.COMMAND)
        return found
    for pattern, known in _COMPILED:
        if _fits(pattern, name):
            return known
    return Sort(Kind.ENVIRONMENT, PERHAPS)


def _nested(name: str) -> Sort:
    """What a setting is about, by its own name, else by that of what it is part of, too."""
    last = last_part(name)
    found = setting(last)
    above = last_part(name.rpartition(".")[0])
    if above and found == Sort(Kind.CONFIG, PERHAPS):
        return setting(f"{above}_{last}")
    return found


def _fits(pattern: re.Pattern[str], name: str) -> bool:
    """Whether a pattern is the whole name, or the first parts of it."""
    match = pattern.match(name)
    if match is None:
        return False
    rest = name[match.end() :]
    return not rest or match[0].endswith(".") or rest[0] in ".["


_CALLED = frozenset(("config.name", "argv.name", "config.run_name", "argv.run_name"))
_AWAY = re.compile(
    r"(output|out|save|logging|log|wandb|tensorboard|tb|mlflow|comet|neptune|hub|checkpoint|ckpt|"
    r"results?|cache|run|report|print|disable_tqdm|project|entity|tags?|notes?|exp(eriment)?)"
    r"(_?(dir(ectory)?|path|folder|file|name|id|to|steps?|every|interval|freq(uency)?|level|"
    r"strategy|total_limit|safetensors|token|model_id|private_repo|project|entity|mode|only|tags?|"
    r"group|number|url|uri|comment|format|on_each_node|first_step))*",
)
"""Names of settings that say where results go and how often something is told."""
_NOT_AWAY = frozenset(("run", "exp", "out", "file", "result", "results", "checkpoint", "ckpt"))
_DATA = frozenset(
    """data dataset datasets corpus batch bs sampler shuffle shuffled tokenizer tokenization split
    splits augment augmentation augmentations transform transforms collate collator vocab fold
    folds crop resize mixup cutmix mosaic packing drop_last worker workers streaming
    curriculum subset buffer""".split()  # noqa: SIM905  # read better without quotes
)
_DATA_PHRASES = ("drop_last", "block_size", "max_length", "seq_len", "sequence_length",
                 "context_length", "max_seq_length", "train_file", "image_size")  # fmt: skip
_PRECISION = frozenset(
    """dtype precision amp bf16 fp16 fp8 fp32 float16 bfloat16 float32 float64 tf32 half autocast
    quantize quantization quant""".split()  # noqa: SIM905  # as above
)
_DETERMINISM = frozenset(
    ("deterministic", "determinism", "benchmark", "nondeterministic", "compile")
)
_PARALLEL = frozenset(
    """world nodes node devices gpus gpu nproc tp pp dp cp ep tensor pipeline fsdp ddp deepspeed
    zero strategy accumulation accumulate accum parallel sharding shard microbatch""".split()  # noqa: SIM905  # as above
)
_WEIGHTS = frozenset(
    ("init", "initialization", "initializer", "pretrained", "resume", "weights", "ckpt")
)
_RATES = frozenset(
    """lr learning schedule scheduler warmup decay cosine anneal annealing lrs
    gamma""".split()  # noqa: SIM905  # as above
)
_KNOWN = frozenset(
    """optimizer optim momentum beta beta1 beta2 betas eps epsilon clip clipping nesterov dropout
    hidden layers layer heads head dim width depth model arch architecture loss epochs epoch steps
    iters iterations temperature activation norm smoothing ema alpha lambda regularization kernel
    channels rank lora adapter freeze frozen tokens max_steps amsgrad dampening objective task
    reward kl positional rope bias attention""".split()  # noqa: SIM905  # as above
)


def setting(name: str) -> Sort:
    """What a setting that a user named is about.

    Args:
        name: Its own name, without what it is part of.
    """
    words = words_of(name)
    known = set(words)
    joined = "_".join(words)
    digits = {f"{a}{b}" for a, b in itertools.pairwise(words) if b.isdigit()}
    known |= digits
    if "seed" in known or "seeds" in known or joined in ("random_state", "rng"):
        kind = Kind.DATA if known & _DATA else Kind.SEED
        return Sort(kind, YES, "Random numbers are drawn from it.")
    if joined not in _NOT_AWAY and _AWAY.fullmatch(joined) and not known & {"weights"}:
        return Sort(Kind.CONFIG, HARDLY, "Where results go, or how often something is told.")
    for found in _by_words(joined, known):
        return found
    return Sort(Kind.CONFIG, PERHAPS)


def _by_words(joined: str, known: set[str]) -> Iterator[Sort]:
    if known & {"eval", "evaluation", "val", "validation"}:
        yield Sort(Kind.CONFIG, PERHAPS, "Evaluation may draw random numbers.")
    if known & _RATES and "weight" not in known:
        yield Sort(Kind.CONFIG, YES, RATE)
    if known & _PRECISION or joined in ("loss_scale", "grad_scaler"):
        yield Sort(Kind.PRECISION, YES, "Arithmetic rounds in another way.")
    if known & _DETERMINISM:
        yield Sort(Kind.DETERMINISM, PERHAPS, "Other kernels may run.")
    if known & {"worker", "workers"}:
        yield Sort(Kind.DATA, PERHAPS, "Workers draw random numbers of their own.")
    if known & _PARALLEL:
        yield Sort(Kind.PARALLELISM, YES, "Work is divided in another way.")
    if known & _DATA or any(phrase in joined for phrase in _DATA_PHRASES):
        yield Sort(Kind.DATA, YES, "Other batches are made.")
    if known & _WEIGHTS or joined in ("model_name_or_path", "load_from"):
        yield Sort(Kind.WEIGHTS, YES, "Training begins from other weights.")
    if known & _KNOWN or joined in ("weight_decay", "wd"):
        yield Sort(Kind.CONFIG, YES)
