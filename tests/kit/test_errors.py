from app.kit.errors import first_line


def test_an_error_is_told_by_its_first_line_or_its_type() -> None:
    assert first_line(ValueError("no table\nLINE 1: SELECT")) == "no table"
    assert first_line(TimeoutError()) == "TimeoutError"
