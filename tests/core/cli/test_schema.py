from __future__ import annotations

import json

import pytest

from tests.core.test_schemas import schema


@pytest.mark.parametrize("name", ["report", "step", "plugins", "diff", "check"])
def test_a_schema_is_printed_as_it_is(cli, name):
    result = cli("schema", name)
    assert (result.code, result.err) == (0, "")
    assert json.loads(result.out) == schema(name)


def test_that_of_the_report_is_printed_by_default(cli):
    assert cli("schema").out == cli("schema", "report").out


def test_another_name_is_a_usage_error_that_names_those_there_are(cli):
    result = cli("schema", "reprot")
    assert (result.code, result.out) == (2, "")
    assert "'report', 'step', 'plugins'" in result.err


def test_the_listing_of_plugins_is_of_its_schema(cli):
    import jsonschema

    jsonschema.validate(json.loads(cli("plugins", "--json").out), schema("plugins"))
