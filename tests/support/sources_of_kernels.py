"""The examples' kernels, and their text compiled and called: C by gcc, CUDA as C++ where each thread of a block is a
thread of the CPU."""

import ctypes
import importlib.util
import re
import runpy
import sys

from tla.kernels.targets import source_of

import compiled
from night import amount
from places import EXAMPLES

#: What the parts below include: to read it takes longer than to compile a kernel.
HEADERS = """
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>
"""
#: CUDA's words for a C++ compiler. Threads of a block, and the blocks of a cluster, run at once and wait for each
#: other; other blocks run one after the other, so that shared memory is a static array, of clusters one of each block.
ON_CPU = """
#define __CUDACC_RTC__
#define __grid_constant__
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(...)
#define __maxnreg__(n)
#define __align__(n) __attribute__((aligned(n)))
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct Three { int x, y, z; };
static thread_local Three threadIdx, blockIdx;
static thread_local int cta; // the number of the block in its cluster
static thread_local std::barrier<> *all_threads;
static std::barrier<> *threads_of_cluster;
static void cluster_sync() { threads_of_cluster->arrive_and_wait(); }
static thread_local std::optional<std::barrier<>::arrival_token> arrival;
static void cluster_arrive() { arrival.emplace(threads_of_cluster->arrive()); }
static void cluster_wait() { threads_of_cluster->wait(std::move(*arrival)); }
static void __trap() { std::abort(); }
static void __syncthreads() { all_threads->arrive_and_wait(); }
static void fence_view_async_shared() {}
template <class T> T atomicAdd(T *p, T x) { return std::atomic_ref<T>(*p).fetch_add(x); }
static double exchanged[1024];
template <class T> T __shfl_xor_sync(unsigned, T x, int mask) {
    exchanged[threadIdx.x] = x; __syncthreads();
    const T other = (T)exchanged[threadIdx.x ^ mask]; __syncthreads();
    return other;
}
"""
#: Floats of less than 32 bits by IEEE 754 and OCP's table: a number is rounded to the nearest of all that there are,
#: ties to the even code; of two the product and the sum are rounded too, as CUDA's operators round.
NARROW_FLOATS = """
template <class Bits, int mantissa, int exponent, bool has_infinity> struct Narrow {
    Bits bits;
    static constexpr int bias = (1 << (exponent - 1)) - 1, sign = 1 << (mantissa + exponent);
    static constexpr int beyond = has_infinity ? sign - (1 << mantissa) : sign - 1;
    static float number(int code) {
        const int e = code >> mantissa, m = code & ((1 << mantissa) - 1);
        return std::ldexp((float)(e ? m + (1 << mantissa) : m), (e ? e : 1) - bias - mantissa);
    }
    Narrow() = default;
    Narrow(float x) {
        const double a = std::fabs((double)x);
        int low = 0, high = beyond;
        while (high - low > 1) { const int middle = (low + high) / 2; (number(middle) <= a ? low : high) = middle; }
        const double rest = 2 * a - number(low) - (double)number(high);
        int code = rest > 0 || (rest == 0 && low % 2) ? high : low;
        if (x != x) code = has_infinity ? beyond | 1 << (mantissa - 1) : beyond;
        bits = (Bits)(code | (std::signbit(x) ? sign : 0));
    }
    operator float() const {
        const int code = bits & (sign - 1);
        const float x = code < beyond ? number(code) : code == beyond && has_infinity ? INFINITY : NAN;
        return bits & sign ? -x : x;
    }
    Narrow operator*(Narrow other) const { return (float)*this * (float)other; }
    Narrow operator+(Narrow other) const { return (float)*this + (float)other; }
};
typedef Narrow<uint16_t, 10, 5, true> __half;
typedef Narrow<uint16_t, 7, 8, true> __nv_bfloat16;
typedef Narrow<uint8_t, 3, 4, false> __nv_fp8_e4m3;
typedef Narrow<uint8_t, 2, 5, true> __nv_fp8_e5m2;
struct Tf32 {  // a float whose first 19 bits the machine reads
    uint32_t bits;
    operator float() const { float x; const uint32_t read = bits & 0xffffe000u; memcpy(&x, &read, 4); return x; }
};
template <class T> float element_of(uint32_t word, int i) { T x; memcpy(&x, (const char *)&word + i * sizeof x, sizeof x); return x; }
"""
#: The instructions of warps, by the tables of the PTX manual. Threads of a warp wait for each other; a copy is under way
#: until its thread waits for it.
WARPS = """
struct Warp { std::barrier<> wait{32}; const void *rows[32]; uint32_t a[32][4], b[32][2]; };
static std::unique_ptr<Warp[]> warps{new Warp[32]};
struct Copy { void *target; const void *source; bool inside; };
static thread_local std::vector<std::vector<Copy>> groups{1};
static void cp_async_ca_shared_global_16(void *target, const void *source, bool inside) { groups.back().push_back({target, source, inside}); }
static void cp_async_fence() { groups.emplace_back(); }
static void cp_async_wait(size_t pending) {
    while (groups.size() > pending + 1) {
        for (auto &c : groups.front()) { if (c.inside) memcpy(c.target, c.source, 16); else memset(c.target, 0, 16); }
        groups.erase(groups.begin());
    }
}
static void cp_async_wait_0() { cp_async_wait(0); }
static void cp_async_wait_1() { cp_async_wait(1); }
static void cp_async_wait_2() { cp_async_wait(2); }
static void ldmatrix_sync_aligned_x4_m8n8_shared_b16(uint32_t &d0, uint32_t &d1, uint32_t &d2, uint32_t &d3, const void *row) {
    Warp &w = warps[threadIdx.x / 32]; const int lane = threadIdx.x % 32; uint32_t *d[4] = {&d0, &d1, &d2, &d3};
    w.rows[lane] = row; w.wait.arrive_and_wait();
    for (int i = 0; i < 4; ++i) memcpy(d[i], (const char *)w.rows[8 * i + lane / 4] + lane % 4 * 4, 4);
    w.wait.arrive_and_wait();
}
static void ldmatrix_sync_aligned_x4_trans_m8n8_shared_b16(uint32_t &d0, uint32_t &d1, uint32_t &d2, uint32_t &d3, const void *row) {
    Warp &w = warps[threadIdx.x / 32]; const int lane = threadIdx.x % 32; uint32_t *d[4] = {&d0, &d1, &d2, &d3};
    w.rows[lane] = row; w.wait.arrive_and_wait();
    for (int i = 0; i < 4; ++i) for (int j = 0; j < 2; ++j)
        memcpy((char *)d[i] + 2 * j, (const char *)w.rows[8 * i + lane % 4 * 2 + j] + lane / 4 * 2, 2);
    w.wait.arrive_and_wait();
}
static void stmatrix_sync_aligned_x4_m8n8_shared_b16(uint32_t s0, uint32_t s1, uint32_t s2, uint32_t s3, const void *row) {
    Warp &w = warps[threadIdx.x / 32]; const int lane = threadIdx.x % 32; const uint32_t s[4] = {s0, s1, s2, s3};
    w.rows[lane] = row; w.wait.arrive_and_wait();
    for (int i = 0; i < 4; ++i) memcpy((char *)w.rows[8 * i + lane / 4] + lane % 4 * 4, &s[i], 4);
    w.wait.arrive_and_wait();
}
static void stmatrix_sync_aligned_x4_trans_m8n8_shared_b16(uint32_t s0, uint32_t s1, uint32_t s2, uint32_t s3, const void *row) {
    Warp &w = warps[threadIdx.x / 32]; const int lane = threadIdx.x % 32; const uint32_t s[4] = {s0, s1, s2, s3};
    w.rows[lane] = row; w.wait.arrive_and_wait();
    for (int i = 0; i < 4; ++i) for (int j = 0; j < 2; ++j)
        memcpy((char *)w.rows[8 * i + lane % 4 * 2 + j] + lane / 4 * 2, (const char *)&s[i] + 2 * j, 2);
    w.wait.arrive_and_wait();
}
// 16 by 8 by 32 bytes: each word of A and B has neighbours along K
template <class A, class B> static void multiply(float *d, const uint32_t *a, const uint32_t *b) {
    Warp &w = warps[threadIdx.x / 32]; const int lane = threadIdx.x % 32, each = 4 / sizeof(A), half = 4 * each;
    memcpy(w.a[lane], a, 16); memcpy(w.b[lane], b, 8); w.wait.arrive_and_wait();
    for (int r = 0; r < 2; ++r) for (int i = 0; i < 2; ++i) for (int k = 0; k < 2 * half; ++k)
        d[2 * r + i] += element_of<A>(w.a[lane / 4 * 4 + k % half / each][r + k / half * 2], k % each) *
                        element_of<B>(w.b[(lane % 4 * 2 + i) * 4 + k % half / each][k / half], k % each);
    w.wait.arrive_and_wait();
}
static void mma_sync_aligned_m16n8k16_row_col_f16_f16_f16_f16(uint32_t &d0, uint32_t &d1, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                                                              uint32_t b0, uint32_t b1, uint32_t c0, uint32_t c1) {
    const uint32_t a[] = {a0, a1, a2, a3}, b[] = {b0, b1};
    float d[] = {element_of<__half>(c0, 0), element_of<__half>(c0, 1), element_of<__half>(c1, 0), element_of<__half>(c1, 1)};
    multiply<__half, __half>(d, a, b);
    d0 = __half(d[0]).bits | (uint32_t)__half(d[1]).bits << 16; d1 = __half(d[2]).bits | (uint32_t)__half(d[3]).bits << 16;
}
#define MMA(name, A, B) static void name(float &d0, float &d1, float &d2, float &d3, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, \
                                         uint32_t b0, uint32_t b1, float c0, float c1, float c2, float c3) { \
    const uint32_t a[] = {a0, a1, a2, a3}, b[] = {b0, b1}; float d[] = {c0, c1, c2, c3}; multiply<A, B>(d, a, b); \
    d0 = d[0]; d1 = d[1]; d2 = d[2]; d3 = d[3]; }
MMA(mma_sync_aligned_m16n8k16_row_col_f32_f16_f16_f32, __half, __half)
MMA(mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32, __nv_bfloat16, __nv_bfloat16)
MMA(mma_sync_aligned_m16n8k8_row_col_f32_tf32_tf32_f32, Tf32, Tf32)
MMA(mma_sync_aligned_m16n8k32_row_col_f32_e4m3_e4m3_f32, __nv_fp8_e4m3, __nv_fp8_e4m3)
MMA(mma_sync_aligned_m16n8k32_row_col_f32_e5m2_e5m2_f32, __nv_fp8_e5m2, __nv_fp8_e5m2)
"""
MATRIX_DESCRIPTOR = """
static unsigned long long matrix_descriptor(const void *start, unsigned long long bits) {
    return bits | (unsigned long long)((const char *)start - shared_memory) >> 4;
}
"""
#: Products of warpgroups, by the PTX manual's tables of descriptors and of canonical layouts with 128 bytes' swizzle. A
#: product is under way until its thread waits for it: what it reads is read then.
WARPGROUPS = """
struct Warpgroup { std::barrier<> wait{128}; };
static std::unique_ptr<Warpgroup[]> warpgroups{new Warpgroup[8]};
struct Product { uint32_t *d[16]; unsigned long long a, b; bool mn; };
static thread_local std::vector<std::vector<Product>> products{1};
static float read_by_descriptor(unsigned long long bits, bool mn, int at, int k) {
    const int start = (bits & 0x3fff) << 4, lbo = (bits >> 16 & 0x3fff) << 4, sbo = (bits >> 32 & 0x3fff) << 4;
    int place = start + (mn ? at % 64 * 2 + at / 64 * lbo + k % 8 * 128 + k / 8 * sbo : at % 8 * 128 + at / 8 * sbo + k * 2);
    place ^= (place >> 7 & 7) << 4; __half x; memcpy(&x, shared_memory + place, 2); return x;
}
static void warpgroup_arrive() {}
static void fence_operand_r(uint32_t &) {}
static void warpgroup_commit_batch() { products.emplace_back(); }
static void warpgroup_wait_0() {
    Warpgroup &g = warpgroups[threadIdx.x / 128]; const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
    g.wait.arrive_and_wait();
    while (products.size() > 1) {
        for (auto &p : products.front()) for (int j = 0; j < 16; ++j) {
            uint32_t d = 0;
            for (int i = 0; i < 2; ++i) {
                const int row = 16 * warp + lane / 4 + 8 * (j % 2), column = 8 * (j / 2) + lane % 4 * 2 + i; float sum = element_of<__half>(*p.d[j], i);
                for (int k = 0; k < 16; ++k) sum += read_by_descriptor(p.a, p.mn, row, k) * read_by_descriptor(p.b, p.mn, column, k);
                d |= (uint32_t)__half(sum).bits << 16 * i;
            }
            *p.d[j] = d;
        }
        products.erase(products.begin());
    }
    g.wait.arrive_and_wait();
}
#define WGMMA(name, mn) static void name(uint32_t &d0, uint32_t &d1, uint32_t &d2, uint32_t &d3, uint32_t &d4, uint32_t &d5, uint32_t &d6, \
    uint32_t &d7, uint32_t &d8, uint32_t &d9, uint32_t &d10, uint32_t &d11, uint32_t &d12, uint32_t &d13, uint32_t &d14, uint32_t &d15, \
    unsigned long long a, unsigned long long b) { \
    products.back().push_back({{&d0, &d1, &d2, &d3, &d4, &d5, &d6, &d7, &d8, &d9, &d10, &d11, &d12, &d13, &d14, &d15}, a, b, mn}); }
WGMMA(wgmma_mma_async_sync_aligned_m64n64k16_f16_f16_f16_1_1_0_0, false)
WGMMA(wgmma_mma_async_sync_aligned_m64n64k16_f16_f16_f16_1_1_1_1, true)
"""
#: Mbarriers and loads by TMA, by the PTX manual: a load is a thread of its own, which comes some time later. A map is
#: what the launch gives to the driver's function; of a box that is loaded an element past the end of the
#: tensor is zero.
LOADS = """
struct Encoded { const char *address; long long shape[5], strides[5]; int box[5], rank, bytes, swizzle; };
struct CUtensorMap { Encoded *of; };
enum CUresult { CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE }; typedef unsigned long long cuuint64_t; typedef unsigned int cuuint32_t;
enum { CU_TENSOR_MAP_DATA_TYPE_FLOAT16 = 2, CU_TENSOR_MAP_DATA_TYPE_FLOAT32 = 4, CU_TENSOR_MAP_DATA_TYPE_INT32 = 5,
       CU_TENSOR_MAP_INTERLEAVE_NONE = 0, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0, CU_TENSOR_MAP_L2_PROMOTION_L2_128B = 0,
       CU_TENSOR_MAP_SWIZZLE_NONE = 0, CU_TENSOR_MAP_SWIZZLE_32B = 1, CU_TENSOR_MAP_SWIZZLE_64B = 2, CU_TENSOR_MAP_SWIZZLE_128B = 3 };
static CUresult encode(CUtensorMap *map, int type, int rank, void *address, const cuuint64_t *dim, const cuuint64_t *strides,
                       const cuuint32_t *box, const cuuint32_t *steps, int, int swizzle, int, int) {
    Encoded *e = new Encoded{(const char *)address, {}, {}, {}, rank, type == 2 ? 2 : 4, swizzle};
    if ((uintptr_t)address % 16) return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < rank; ++i) {
        e->shape[i] = dim[i]; e->box[i] = box[i]; e->strides[i] = i ? strides[i - 1] : e->bytes;
        if (steps[i] != 1 || box[i] > 256 || dim[i] < 1 || (i && strides[i - 1] % 16)) return CUDA_ERROR_INVALID_VALUE;
    }
    map->of = e; return CUDA_SUCCESS;
}
typedef decltype(&encode) PFN_cuTensorMapEncodeTiled_v12000;
struct Counting { int expected, pending, bytes, ended; };
static std::mutex counting; static std::condition_variable counted;
static std::map<const void *, Counting> mbarrier_at; static std::vector<std::thread> loading; static std::mutex beginning;
template <class F> static void begin(F f) {
    std::lock_guard<std::mutex> lock(beginning);
    loading.emplace_back([f, own = cta] { cta = own; std::this_thread::sleep_for(std::chrono::microseconds(100)); f(); });
}
static void came(unsigned long long *barrier, int arrivals, int bytes) {
    std::lock_guard<std::mutex> lock(counting); Counting &c = mbarrier_at.at(barrier);
    c.pending -= arrivals; c.bytes += bytes;
    if (!c.pending && !c.bytes) { ++c.ended; c.pending = c.expected; counted.notify_all(); }
}
static void initialize_barrier(unsigned long long *barrier, int count, int arrivals) {
    std::lock_guard<std::mutex> lock(counting);
    for (int i = 0; i < count; ++i) mbarrier_at[barrier + i] = {arrivals, arrivals, 0, 0};
}
static void set_barrier_transaction_bytes(unsigned long long *barrier, int bytes) { came(barrier, 1, bytes); }
static void arrive_barrier(unsigned long long *barrier) { came(barrier, 1, 0); }
static void wait_barrier(unsigned long long *barrier, int parity) {
    std::unique_lock<std::mutex> lock(counting);
    counted.wait(lock, [=] { return mbarrier_at.at(barrier).ended % 2 != parity; });
}
static void load_tile(char *target, const Encoded &e, unsigned long long *barrier, std::vector<int> at) {
    begin([=] {
        int count = 1; for (int i = 0; i < e.rank; ++i) count *= e.box[i];
        for (int n = 0; n < count; ++n) {
            bool inside = true; const char *from = e.address;
            for (int i = 0, left = n; i < e.rank; left /= e.box[i++]) {
                const long long c = at[i] + left % e.box[i];
                inside &= 0 <= c && c < e.shape[i]; from += c * e.strides[i];
            }
            uintptr_t place = (uintptr_t)target + n * e.bytes;
            place ^= (place >> 7 & ((1 << e.swizzle) - 1)) << 4;
            if (inside) memcpy((char *)place, from, e.bytes); else memset((char *)place, 0, e.bytes);
        }
        came(barrier, 0, -count * e.bytes);
    });
}
static thread_local std::vector<std::vector<std::function<void()>>> storing{1};
static void tma_store_arrive() { if (threadIdx.x == 0) storing.emplace_back(); }
static void tma_store_wait_0() {
    if (threadIdx.x == 0) while (storing.size() > 1) { for (auto &f : storing.front()) f(); storing.erase(storing.begin()); }
}
static void store_tile_2d(void *shared, const CUtensorMap &m, int x, int y) {
    storing.back().push_back([=, &e = *m.of] {
        for (int n = 0; n < e.box[0] * e.box[1]; ++n) {
            const long long c = x + n % e.box[0], d = y + n / e.box[0];
            uintptr_t place = (uintptr_t)shared + n * e.bytes;
            place ^= (place >> 7 & ((1 << e.swizzle) - 1)) << 4;
            if (0 <= c && c < e.shape[0] && 0 <= d && d < e.shape[1])
                memcpy((char *)e.address + c * e.strides[0] + d * e.strides[1], (char *)place, e.bytes);
        }
    });
}
static void load_tile_1d(void *to, const CUtensorMap &m, unsigned long long *b, int x) { load_tile((char *)to, *m.of, b, {x}); }
static void load_tile_2d(void *to, const CUtensorMap &m, unsigned long long *b, int x, int y) { load_tile((char *)to, *m.of, b, {x, y}); }
static void load_tile_3d(void *to, const CUtensorMap &m, unsigned long long *b, int x, int y, int z) {
    load_tile((char *)to, *m.of, b, {x, y, z});
}
"""
#: Tensor memory, by the PTX manual's addresses and its tables of descriptors, with 128 bytes' swizzle. Products are
#: under way until some time after they were told to arrive at an mbarrier; loads until their thread waits. What a block
#: allocates begins where it ends.
TENSOR_MEMORY = """
static uint32_t tensor_memory_of[CTAS][128][512]; static unsigned columns_of[CTAS]; static bool released_of[CTAS];
#define tensor_memory tensor_memory_of[cta]
#define allocated_columns columns_of[cta]
#define is_released released_of[cta]
static void tmem_allocate(unsigned *address, unsigned columns) {
    if (threadIdx.x) return;
    if (allocated_columns || is_released || columns < 32 || columns > 512 || columns & (columns - 1)) std::abort();
    allocated_columns = columns; *address = 512 - columns; memset(tensor_memory, 0xff, sizeof tensor_memory);
}
static void tmem_free(unsigned address, unsigned columns) {
    if (!threadIdx.x && (columns != allocated_columns || address != 512 - columns)) std::abort();
    if (!threadIdx.x) { allocated_columns = 0; is_released = false; memset(tensor_memory, 0xff, sizeof tensor_memory); }
}
static void release_allocation_lock() { if (!threadIdx.x) is_released = true; }
static void wait_for_all() { __syncthreads(); }
static void fence_operand_f(float &) {}
struct Sum { unsigned d; unsigned long long a, b; unsigned types; int accumulates, sms; };
static thread_local std::vector<Sum> sums;
static float read_by_umma_descriptor(unsigned long long bits, int at, int k) {
    const int start = (bits & 0x3fff) << 4, sbo = (bits >> 32 & 0x3fff) << 4;
    if (bits >> 61 != 2 || (bits >> 46 & 3) != 1) std::abort();
    int place = start + at % 8 * 128 + at / 8 * sbo + k * 2;
    place ^= (place >> 7 & 7) << 4; __half x; memcpy(&x, shared_memory + place, 2); return x;
}
static std::vector<float> of_pair(unsigned long long bits, int rows, int sms) {
    std::vector<float> x(rows * 16);
    for (int i = 0; i < rows; ++i) {
        cta += i / (rows / sms);
        for (int k = 0; k < 16; ++k) x[i * 16 + k] = read_by_umma_descriptor(bits, i % (rows / sms), k);
        cta -= i / (rows / sms);
    }
    return x;
}
static void add_up(const Sum &s) {
    const int m = (s.types >> 24 & 31) * 16, n = (s.types >> 17 & 63) * 8;
    if ((s.types & 0x1fff) != 0x10 || s.types >> 13 & 15 || m != 128 * s.sms || s.d >> 16 || cta % s.sms) std::abort();
    const std::vector<float> a = of_pair(s.a, m, s.sms), b = of_pair(s.b, n, s.sms);
    for (int i = 0; i < m; ++i) for (int j = 0; j < n; ++j) {
        uint32_t &cell = tensor_memory_of[cta + i / 128][i % 128][s.d + j]; float sum = 0;
        if (s.accumulates) memcpy(&sum, &cell, 4);
        for (int k = 0; k < 16; ++k) sum += a[i * 16 + k] * b[j * 16 + k];
        memcpy(&cell, &sum, 4);
    }
}
static void tcgen05_mma_cta_group_1_kind_f16(unsigned d, unsigned long long a, unsigned long long b, unsigned types, int accumulates) {
    sums.push_back({d, a, b, types, accumulates, 1});
}
static void tcgen05_mma_cta_group_2_kind_f16(unsigned d, unsigned long long a, unsigned long long b, unsigned types, int accumulates) {
    sums.push_back({d, a, b, types, accumulates, 2});
}
static void umma_arrive(unsigned long long *barrier) {
    begin([=, given = std::move(sums)] {
        for (const Sum &s : given) add_up(s);
        came(barrier, 1, 0);
    });
    sums.clear();
}
static thread_local std::vector<std::function<void()>> reading;
static void fence_view_async_tmem_load() { for (auto &f : reading) f(); reading.clear(); }
static void read_cells(std::vector<float *> d, unsigned address) {
    const int lane = address >> 16, column = address & 0xffff;
    if (lane != threadIdx.x / 32 % 4 * 32) std::abort();
    reading.push_back([=] { for (size_t i = 0; i < d.size(); ++i) memcpy(d[i], &tensor_memory[lane + threadIdx.x % 32][column + i], 4); });
}
"""
for count in (32, 64):
    TENSOR_MEMORY += (
        f"static void tcgen05_ld_sync_aligned_32x32b_x{count}_b32({', '.join(f'float &d{i}' for i in range(count))}, "
        "unsigned address) "
        f"{{ read_cells({{{', '.join(f'&d{i}' for i in range(count))}}}, address); }}\n"
    )
#: Loads and arrivals of several blocks of a cluster, each at the same place of its shared memory.
CLUSTERS = """
template <class T> static T *of_block(T *here, int rank) { return (T *)((char *)here + (shared_memory_of[rank] - shared_memory_of[cta])); }
static void load_tile_2d_multicast(void *to, const CUtensorMap &m, unsigned long long *b, unsigned short mask, int x, int y) {
    for (int r = 0; r < CTAS; ++r) if (mask >> r & 1) load_tile((char *)of_block((char *)to, r), *m.of, of_block(b, r), {x, y});
}
static void load_tile_2d_multicast_2sm(void *to, const CUtensorMap &m, unsigned long long *b, unsigned short mask, int x, int y) {
    for (int r = 0; r < CTAS; ++r) if (mask >> r & 1) load_tile((char *)of_block((char *)to, r), *m.of, of_block(b, r & ~1), {x, y});
}
"""
#: The arrival of products at several blocks.
ARRIVALS = """
static void umma_arrive_multicast(unsigned long long *barrier, unsigned short mask) {
    begin([=, given = std::move(sums)] {
        for (const Sum &s : given) add_up(s);
        for (int r = 0; r < CTAS; ++r) if (mask >> r & 1) came(of_block(barrier, r), 1, 0);
    });
    sums.clear();
}
static void umma_arrive_multicast_2x1SM(unsigned long long *barrier, unsigned short mask) { umma_arrive_multicast(barrier, mask); }
"""
#: A launch of every block; PARAMETERS and NAMES are those of the kernel.
LAUNCH = """
extern "C" void launch(int g0, int g1, int threads{parameters}) {{
{maps}    for (int y = 0; y < g1; y += {c1})
    for (int x = 0; x < g0; x += {c0}) {{
        std::barrier<> all(threads * CTAS);
        threads_of_cluster = &all;
        std::vector<std::unique_ptr<std::barrier<>>> wait;
        std::vector<std::thread> running;
        for (int r = 0; r < CTAS; ++r) wait.emplace_back(new std::barrier<>(threads));
        for (int r = 0; r < CTAS; ++r) for (int t = 0; t < threads; ++t) running.emplace_back([=, own = wait[r].get()] {{
            all_threads = own;
            cta = r;
            threadIdx = {{t, 0, 0}};
            blockIdx = {{x + r % {c0}, y + r / {c0}, 0}};
            kernel_main({names});
        }});
        for (auto &r : running) r.join();
        threads_of_cluster = nullptr;
{loaded}    }}
}}
"""


def kernel_examples():
    """What examples/kernels define, by name."""
    folder = str(EXAMPLES / "kernels")
    sys.path.insert(0, folder)
    try:
        found = {
            name: runpy.run_path(f"{folder}/{name}.py")
            for name in "gemm_cpu sgemm_1 sgemm_2 sgemm_sm70 sgemm_sm80 sgemm_tiles wgmma_sm90 wgmma_tma_sm90 mma_sm100 mma_tma_sm100 mma_tma_multicast_sm100 mma_tma_2sm_sm100 mma_tma_epi_sm100 flash_attention im2col pack_tiles blocked_gemm grouped_gemm tiled_copy tiled_copy_if transpose softmax epilogue gemm_atoms".split()
            + ["gemm_narrow"] * (importlib.util.find_spec("ml_dtypes") is not None)
        }
    finally:
        sys.path.remove(folder)
    return {k: v for values in found.values() for k, v in values.items()} | {
        f"variants of {name}": v for name, v in found.items()
    }


def emitted(variant, target):
    """The Source of one of an example's variants, without the proofs that Kernel.source begins with: they are the same
    for each target and take most of its time. test_kernel_faults.py has that the examples hold."""
    made, arguments, parameters = variant
    return source_of(made.program(*arguments), target, "kernel_main", parameters, "")


#: By day kernels are compiled without optimization: the compiler takes a sixth of the time so, and runs are short.
LEVEL = f"-O{amount(0, 1)}"


def c_function(folder, source, *flags):
    """kernel_main of a Source in C."""
    return compiled.build(folder, source.text, *(flags or [LEVEL])).kernel_main


def _on_cpu(source):
    """The text of a Source without what is done by WARPS, WARPGROUPS and LOADS, and without shared memory that the
    launch would give."""
    text = re.sub(r"#ifdef __CUDACC_RTC__\n.*?\n#endif\n", "", source.text, flags=re.DOTALL)
    kept, inside = [], False
    for line in text.splitlines():
        starts = (
            re.match(
                r"static __device__ __forceinline__ "
                r".*?(cp_async|ldmatrix|stmatrix|mma_sync|wgmma|warpgroup|fence_|matrix_d|tmem_|tcgen05_|umma_|release_|wait_for_all|cluster_(?:sync|arrive|wait)|(?:load|store)_tile|tma_store|\w+_barrier)\w*\(",
                line,
            )
            is not None
        )
        if not (starts or inside or line.startswith("#include")):
            kept.append(line)
        inside = (starts or inside) and not line.endswith("}")
    text = re.sub(r" *extern __shared__ .* shared_memory\[\];\n", "", "\n".join(kept) + "\n")
    return re.sub(r"__shared__ __align__\((\d+)\) (.*) (\w+)\[(\d+)\];", _Placed(), text) if source.cluster else text


class _Placed:
    """Arrays in shared memory one behind the other, as pointers to a block's part of that."""

    def __init__(self):
        self.end = 0

    def __call__(self, found):
        align, kind, name, count = int(found[1]), found[2], found[3], int(found[4])
        start = -(-self.end // align) * align
        self.end = (
            start
            + count * {"__half": 2, "__nv_bfloat16": 2, "float": 4, "unsigned int": 4, "unsigned long long": 8}[kind]
        )
        return f"{kind} *const {name} = ({kind} *)(shared_memory + {start});"


def cuda_function(folder, source, parameters, grid):
    """A function of the kernel's arguments that launches a Source in CUDA, or HIP, on the CPU. grid: a function of
    the same arguments."""
    named = "".join(f", {p}" for p in parameters)
    encoders = "".join(re.findall(r"static inline CUresult .*?\n}\n", source.text, re.DOTALL))
    maps = "".join(re.findall(r" +CUtensorMap map\d;\n.*\n", source.text)).replace(
        "return cudaErrorInvalidValue", "std::abort()"
    )
    counts = maps or "_barrier(" in source.text
    loaded = "        for (auto &l : loading) l.join();\n        loading.clear();\n" if counts else ""
    c0, c1, *_one = (*source.cluster, 1, 1)
    launch = encoders + LAUNCH.format(
        parameters=named, names=", ".join(source.parameters), maps=maps, loaded=loaded, c0=c0, c1=c1
    )
    warps = f"#define CTAS {c0 * c1}\n"
    if "shared_memory[]" in source.text or source.cluster:
        warps += f"alignas(1024) static char shared_memory_of[CTAS][{-(-source.shared_bytes // 1024) * 1024}];\n"
        warps += "#define shared_memory shared_memory_of[cta]\n"
    warps += (
        (NARROW_FLOATS + WARPS if re.search("__half|__nv_|_tf32_", source.text) else "")
        + (MATRIX_DESCRIPTOR + WARPGROUPS if "wgmma" in source.text else "")
        + (LOADS if counts else "")
    )
    warps += MATRIX_DESCRIPTOR + TENSOR_MEMORY if "tcgen05" in source.text else ""
    warps += (CLUSTERS + ARRIVALS * ("tcgen05" in source.text)) if source.cluster else ""
    flags = LEVEL, "-std=c++20", "-pthread", "-fno-strict-aliasing", "-Wno-unused-function"
    text = f"#define __HIPCC_RTC__\n#define __shfl_xor(x, mask) __shfl_xor_sync(~0u, x, mask)\n{ON_CPU}{warps}{_on_cpu(source)}{launch}"
    library = compiled.build(folder, text, *flags, language="c++", headers=HEADERS)

    def call(*arguments):
        g0, g1 = grid(*arguments)
        library.launch(ctypes.c_int(g0), ctypes.c_int(g1), ctypes.c_int(source.block), *arguments)

    return call
