"""What the vector code assumes of a processor."""

import pytest

from hexlit.nets.winograd.vectors import has_many_registers


@pytest.mark.parametrize(
    ("features", "machine", "many"),
    [
        ({"+avx2", "+avx512f"}, "x86_64", True),
        ({"+avx2"}, "x86_64", False),
        ({"+fullfp16", "+dotprod"}, "arm64", True),  # Apple's, which LLVM describes without neon
        ({"+neon"}, "aarch64", True),
    ],
)
def test_arm64_and_avx512_have_32_vector_registers(
    features: set[str], machine: str, many: bool
) -> None:
    assert has_many_registers(features, machine) is many
