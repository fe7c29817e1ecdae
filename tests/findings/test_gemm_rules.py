"""Rules of GEMM and dtype."""

import pytest
from asking import found, not_asked, one
from making import BF16, COPY, FP32, GEMM, SGEMM, steps

from build import Build

NO_SHAPES = "no input shapes were recorded (profile with record_shapes=True)"
NO_LAUNCHES = "no device activity is tied to its launch"
UNLINKED = Build().op("aten::mm", 0, 5).kernel("k", 0, 1).load()
BARE = steps(lambda step: step.leaf("aten::mm", GEMM)).load()
V100 = {"gpu": "Tesla V100-SXM2-16GB", "computeMajor": 7, "computeMinor": 0}


def product(kernel):
    return lambda step: step.leaf("aten::mm", kernel, 300)


# FT301


def test_fp32_on_cuda_cores_where_tf32_is_possible():
    finding = one(steps(product(SGEMM)).load(), "FT301")
    assert finding.title == "fp32 matrix products on CUDA cores, where TF32 or bf16 is possible"
    assert "set_float32_matmul_precision" in finding.change
    assert "tensor cores do TF32 7 times as fast" in finding.text
    assert 250_000 < finding.at_stake_ns < 300_000


def test_a_device_without_tf32_is_told_fp16():
    finding = one(steps(product("volta_sgemm_128x64_tn"), **V100).load(), "FT301")
    assert finding.title.endswith("where fp16 is possible")
    assert "float16" in finding.change


CONVOLUTION = "void cudnn::cnn::implicit_convolve_sgemm<float, float, 128, 6, 7, 3, 3, 5, 1, true, false, true>(int)"
TF32_CONVOLUTION = "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16_stage4_kernel"
TF32_PRODUCT = "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_stage3_tensor16x8x8_kernel"
GA104 = {"gpu": "NVIDIA GeForce RTX 3060 Ti", "computeMajor": 8, "computeMinor": 6}


def convolution(kernel):
    return lambda step: step.leaf("aten::cudnn_convolution", kernel, 300)


@pytest.mark.parametrize("kernel", [CONVOLUTION, SGEMM], ids=["named so", "by its op"])
def test_convolutions_have_a_setting_of_their_own(kernel):
    finding = one(steps(convolution(kernel)).load(), "FT301")
    assert finding.title == "fp32 convolutions on CUDA cores, where TF32 or bf16 is possible"
    assert "torch.backends.cudnn.allow_tf32 = True" in finding.change
    assert "matmul" not in finding.change
    assert finding.at_stake_ns > 250_000


@pytest.mark.parametrize(
    ("slow", "fast", "said"),
    [
        (convolution(CONVOLUTION), convolution(TF32_CONVOLUTION), "TF32 is allowed: 1 convolution a step in it"),
        (product(SGEMM), product(TF32_PRODUCT), "TF32 is allowed: 1 matrix product a step in it"),
    ],
    ids=["convolutions", "products"],
)
def test_where_others_run_in_tf32_it_is_allowed_and_nothing_is_known_to_be_gained(slow, fast, said):
    finding = one(steps(lambda step: (slow(step), fast(step))).load(), "FT301")
    assert (finding.at_stake_ns, finding.confidence) == (0, "possible")
    assert said in finding.text
    assert "tf32" not in finding.change
    assert "set_float32" not in finding.change


def test_tf32_in_convolutions_says_nothing_of_products():
    finding = one(steps(lambda step: (product(SGEMM)(step), convolution(TF32_CONVOLUTION)(step))).load(), "FT301")
    assert "set_float32_matmul_precision" in finding.change


def test_products_and_convolutions_are_told_apart():
    some = found(steps(lambda step: (product(SGEMM)(step), convolution(CONVOLUTION)(step))).load(), "FT301")
    assert sorted(finding.title.split()[1] for finding in some) == ["convolutions", "matrix"]


def test_where_tf32_is_no_faster_it_is_not_offered():
    finding = one(steps(product(SGEMM), **GA104).load(), "FT301")
    assert finding.title.endswith("where bf16 is possible")
    assert "do TF32 no faster than its CUDA cores do fp32, and bf16 2 times" in finding.text
    assert "set_float32" not in finding.change
    assert finding.at_stake_ns == 150_000


def test_without_known_peaks_nothing_is_at_stake():
    finding = one(steps(product(SGEMM), gpu="NVIDIA Unheard-of").load(), "FT301")
    assert (finding.at_stake_ns, finding.confidence) == (0, "possible")
    assert "not in the table of cards" in finding.text


OWN = "matmul_k(float*, float*, float*, int, int, int)"


def test_a_kernel_of_ones_own_is_beyond_the_settings_of_pytorch():
    build = Build().gpu().step(1, 0, 900).kernel(OWN, 50, 300, launched=20)
    assert not found(build.load(), "FT301")
    assert found(steps(product(OWN)).load(), "FT301")


@pytest.mark.parametrize(
    "kernel",
    [
        "sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x32_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
        GEMM,
        "void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false>(int)",
    ],
)
def test_tensor_cores_and_matrix_vector_products_are_fine(kernel):
    assert not found(steps(product(kernel)).load(), "FT301")


def test_a_device_without_tensor_cores_has_no_other_way():
    assert not found(steps(product("maxwell_sgemm_128x64_tn"), gpu="Quadro GP100", computeMajor=6).load(), "FT301")


def test_a_product_lost_in_the_step_is_not_worth_a_word():
    trace = steps(lambda step: (step.leaf("aten::mm", GEMM, 800), step.leaf("aten::bmm", SGEMM, 3))).load()
    assert not found(trace, "FT301")


def test_fp32_products_need_launches():
    assert not_asked(UNLINKED, "FT301") == NO_LAUNCHES


# FT302


def addmm(step, bias=(4096, 4096)):
    inputs = {"dims": [list(bias), [4096, 4096], [4096, 4096]], "types": [BF16] * 3}
    step.op(
        "aten::addmm",
        lambda step: step.memcpy("Memcpy DtoD (Device -> Device)", 15, bytes=33_554_432).kernel(GEMM, 177),
        **inputs,
    )


def test_the_bias_of_an_addmm_is_copied():
    finding = one(steps(addmm).load(), "FT302")
    assert finding.title == "addmm copies its bias (33.6 MB) before the product"
    assert (finding.count, finding.at_stake_ns) == (1, 15_000)
    assert "8 % on top" in finding.text
    assert "max-autotune" in finding.change


def test_a_bias_of_one_dimension_says_update():
    assert "newer releases" in one(steps(lambda step: addmm(step, (4096,))).load(), "FT302").change


def test_a_bias_in_the_epilogue_needs_no_copy():
    assert not found(steps(lambda step: step.leaf("aten::addmm", GEMM, 177)).load(), "FT302")
    assert not_asked(UNLINKED, "FT302") == NO_LAUNCHES


# FT303


HALF = "c10::Half"
T4 = {"gpu": "Tesla T4", "computeMajor": 7, "computeMinor": 5}


def autocast(step, what=(2048, 784), to=BF16):
    def inside(step):
        size = list(what)
        step.op("aten::to", lambda step: step.leaf("aten::copy_", COPY, 35, dims=[size] * 2, types=[to, FP32]))
        step.leaf("aten::addmm", GEMM, 128)

    step.op("aten::linear", inside, dims=[[512, 784], [2048, 784], [2048]], types=[FP32] * 3)


def test_weights_cast_in_every_step_of_inference():
    finding = one(steps(autocast).load(), "FT303")
    assert finding.title == "autocast casts 1 weights and biases to 16 bits a step"
    assert (finding.at_stake_ns, finding.confidence) == (35_000, "likely")
    assert "model.to(torch.bfloat16)" in finding.change


def test_the_dtype_is_the_one_that_the_trace_casts_to():
    change = one(steps(lambda step: autocast(step, to=HALF), **T4).load(), "FT303").change
    assert "model.to(torch.float16)" in change
    assert "bfloat16" not in change


@pytest.mark.parametrize(
    ("gpu", "said", "unsaid"),
    [(T4, "fp32 weights, which training in fp16 needs", "bfloat16"), ({}, "model.to(torch.bfloat16)", "needs")],
    ids=["no bf16", "bf16"],
)
def test_training_in_fp16_is_told_bf16_where_the_device_has_it(gpu, said, unsaid):
    def step_of(step):
        autocast(step, to=HALF)
        step.op("autograd::engine::evaluate_function: AddmmBackward0")

    change = one(steps(step_of, **gpu).load(), "FT303").change
    assert said in change
    assert unsaid not in change


def test_in_training_the_casts_go_with_fp32_weights():
    def step_of(step):
        autocast(step)
        step.op("autograd::engine::evaluate_function: AddmmBackward0")

    finding = one(steps(step_of).load(), "FT303")
    assert finding.confidence == "possible"
    assert "the weights change in each step" in finding.text


def test_the_cast_of_the_input_is_none_of_a_weight():
    assert not found(steps(lambda step: autocast(step, (512, 784))).load(), "FT303")
    assert not_asked(BARE, "FT303") == NO_SHAPES


# FT304


def cleared(step, kernel=GEMM, size=4):
    def inside(step):
        step.build.memset(step.device, 1, launched=step.host, bytes=size)
        step.host, step.device = step.host + 1, step.device + 1
        step.kernel(kernel, 80)

    step.op("aten::mm", inside)


def test_a_memset_before_a_kernel_is_a_note_and_no_split_k():
    finding = one(steps(cleared).load(), "FT304")
    assert finding.title == "small memsets before kernels clear a workspace or counter: 1 a step"
    assert (finding.severity, finding.at_stake_ns) == ("note", 0)
    assert "split" not in finding.text


@pytest.mark.parametrize(
    ("sizes", "said"),
    [((4, 4), "2 memsets of 4 B a step"), ((8, 4), "2 memsets of 4 B or 8 B a step"), ((4, 512, 8), "of 4 B to 512 B")],
)
def test_the_sizes_are_those_in_the_file(sizes, said):
    trace = steps(lambda step: [cleared(step, size=size) for size in sizes]).load()
    assert said in one(trace, "FT304").text


def test_split_k_is_said_where_the_name_says_it():
    kernel = "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_splitK_TNT"
    assert "split K, as the name says" in one(steps(lambda step: cleared(step, kernel)).load(), "FT304").text


def test_a_tensor_that_is_zeroed_is_no_workspace():
    assert not found(steps(lambda step: cleared(step, size=1 << 24)).load(), "FT304")
    assert not_asked(UNLINKED, "FT304") == NO_LAUNCHES


# FT305

NARROW = "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x256_64x3_tn_align2>(Params)"


def odd(sizes, kernel, kind=BF16):
    return steps(lambda step: step.leaf("aten::mm", kernel, 300, dims=sizes, types=[kind] * 2)).load()


def test_odd_sizes_that_lose_the_tensor_core_path():
    finding = one(odd([[4096, 768], [768, 50257]], NARROW), "FT305")
    assert finding.title == "16-bit products of odd sizes (50,257) run with narrow loads"
    assert finding.confidence == "likely"
    assert finding.change.startswith("pad 50,257 to 50,264")


@pytest.mark.parametrize(
    ("sizes", "kernel", "kind"),
    [
        ([[4096, 768], [768, 50304]], NARROW, BF16),
        ([[4096, 768], [768, 50257]], GEMM, BF16),
        ([[4096, 768], [768, 50257]], SGEMM, FP32),
        ([[1, 768], [768, 50257]], NARROW, BF16),
    ],
    ids=["aligned", "fast all the same", "fp32", "a vector"],
)
def test_other_products_lose_nothing(sizes, kernel, kind):
    assert not found(odd(sizes, kernel, kind), "FT305")


def test_odd_sizes_need_shapes():
    assert not_asked(BARE, "FT305") == NO_SHAPES
