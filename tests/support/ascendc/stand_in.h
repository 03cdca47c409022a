// Stand-ins for the parts of AscendC that CATLASS's own host stubs lack, and a log of every call as a line of JSON.
// g++ -include this -I catlass/include -I catlass/tests/unittest/stub; it takes the place of four of the stubs' files.
#pragma once
#define ASCENDC_STUB_ARG_H
#define ASCENDC_STUB_ASCENDC_LOGGER_H
#define ASCENDC_STUB_KERNEL_TENSOR_H
#define ASCENDC_STUB_KERNEL_OPERATOR_SYNC_H
#define ASCENDC_STUB_KERNEL_OPERATOR_SYS_VAR_INTF_H
#include <any>
#include <csignal>
#include <cstring>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <vector>
#if defined(__linux__) && defined(__x86_64__)
#include <ucontext.h>
#endif

#define CATLASS_GEMM_BLOCK_MX_A8W4_PROLOGUE_HPP
#define CATLASS_GEMM_BLOCK_MMAD_A8W4_MX_HPP
#define CATLASS_GEMM_TILE_TILE_MULS_HPP
#define CATLASS_GEMM_BLOCK_MMAD_DYNAMIC_AIV_HPP
#define CATLASS_GEMM_TILE_CAST_INT8_TO_FP16_HPP
#define CATLASS_GEMM_TILE_CAST_FP8_TO_FP16_HPP
#define ASCENDC_STUB_KERNEL_STRUCT_UNARY_H  // those of the stubs have not the constructors of CANN's
#ifndef __cbuf__
#define __cbuf__
#endif
struct half;
struct bfloat16_t;
struct float4_e2m1x2_t;
struct float4_e1m2x2_t;

namespace tla_log {

inline bool& enabled() { static bool on = true; return on; }
inline int64_t& block_index() { static int64_t i = 0; return i; }
inline int64_t& block_count() { static int64_t n = 1; return n; }

template <typename T> std::string type_name()
{
    std::string name = __PRETTY_FUNCTION__;  // ... [T = half], or [with T = half; ...]
    auto begin = name.rfind("T = ") + 4, end = name.find_first_of(";]", begin);
    return name.substr(begin, end - begin);
}

struct Fields {
    std::ostringstream text;
    Fields(const std::string& kind, const std::string& name) { text << "{\"" << kind << "\": \"" << name << "\""; }
    template <typename T> Fields& add(const char* name, const T& value)
    {
        text << ", \"" << name << "\": ";
        if constexpr (std::is_same_v<T, std::string>) text << '"' << value << '"';
        else if constexpr (std::is_enum_v<T> || std::is_same_v<T, bool>) text << static_cast<long long>(value);
        else if constexpr (std::is_class_v<T>) text << "null";  // a half
        else text << +value;
        return *this;
    }
    std::string str() const { return text.str() + "}"; }
};

template <typename T, typename = void> struct Describe {
    static std::string of(const T& x)
    {
        if constexpr (std::is_enum_v<T>) return std::to_string(static_cast<long long>(x));
        else if constexpr (std::is_arithmetic_v<T>) { std::ostringstream s; s << +x; return s.str(); }
        else return Fields("other", type_name<T>()).str();
    }
};
// Fields of a struct by name, where it has them.
#define TLA_LOG_FIELD(NAME)                                                                              \
    template <typename T> auto field_##NAME(Fields& f, const T& x, int) -> decltype((void)x.NAME)         \
    { if constexpr (!std::is_array_v<decltype(x.NAME)>) f.add(#NAME, x.NAME); }                           \
    template <typename T> void field_##NAME(Fields&, const T&, long) {}
#define TLA_LOG_FIELDS(X)                                                                                 \
    X(ndNum) X(dnNum) X(nValue) X(dValue) X(srcNdMatrixStride) X(srcDnMatrixStride) X(srcDValue) X(dstNzC0Stride) X(dstNzNStride) \
    X(dstNzMatrixStride) X(blockCount) X(blockLen) X(srcStride) X(dstStride) X(isPad) X(leftPadding) X(rightPadding) X(startIndex) \
    X(repeatTimes) X(sid) X(dstGap) X(ifTranspose) X(addrMode) X(mStartPosition) X(kStartPosition) X(mStep) X(kStep) X(dstFracGap) \
    X(srcFracGap) X(xStartPosition) X(yStartPosition) X(xStep) X(yStep) X(l1H) X(l1W) X(channelSize) X(kExtension) X(mExtension) \
    X(kStartPt) X(mStartPt) X(strideW) X(strideH) X(filterW) X(filterH) X(dilationFilterW) X(dilationFilterH) X(enTranspose)      \
    X(enSmallK) X(filterSizeW) X(filterSizeH) X(fMatrixCtrl) X(nSize) X(mSize) X(quantPre) X(srcNdStride) X(dstNdStride) X(reluEn) \
    X(unitFlag) X(isChannelSplit) X(dualDstCtl) X(subBlockId) X(reluPre) X(channelSplit) X(nz2ndEn) X(m) X(n) X(k) X(isBias)      \
    X(fmOffset) X(enSsparse) X(kDirectionAlign) X(cmatrixSource) X(cmatrixInitVal) X(disableGemv) X(isSetFMatrix) X(isSetPadding) X(extConfig) X(filterConfig) \
    X(blockNum) X(initValue) X(format) X(isToUB) X(repeatStride) X(repeatTime) X(repeatMode) X(preReluMode)                       \
    X(dstHighHalf) X(srcHighHalf) X(dstRepeatSize) X(srcRepeatSize) X(dstBlkStride) X(srcBlkStride) X(src0BlkStride) X(src1BlkStride) X(dstRepStride) X(srcRepStride) X(src0RepStride) X(src1RepStride)
TLA_LOG_FIELDS(TLA_LOG_FIELD)
template <typename T> struct Describe<T, std::enable_if_t<std::is_class_v<T>>> {
    static std::string of(const T& x)
    {
        Fields f("struct", type_name<T>());
        if constexpr (requires { x.describe(f); }) { x.describe(f); return f.str(); }
#define TLA_LOG_ADD(NAME) field_##NAME(f, x, 0);
        TLA_LOG_FIELDS(TLA_LOG_ADD)
        if constexpr (requires { x.padList[3]; })
            for (int i = 0; i < 4; ++i) f.add(("padList[" + std::to_string(i) + "]").c_str(), static_cast<unsigned>(x.padList[i]));
        if constexpr (requires { x.params.ndNum; }) f.add("ndNum", x.params.ndNum).add("srcNdStride", x.params.srcNdStride).add("dstNdStride", x.params.dstNdStride);
        return f.str();
    }
};

}  // namespace tla_log

template <typename T> struct ArgUseRef : std::false_type {};
struct Arg {
    std::string text;
    Arg() = default;
    template <typename T> Arg(const T& x)
    {
        if constexpr (std::is_pointer_v<T> || std::is_array_v<T>) {
            if constexpr (std::is_same_v<std::decay_t<T>, const uint8_t*>) {
                text = "[";
                for (int i = 0; i < 4; ++i) text += (i ? ", " : "") + std::to_string(x[i]);
                text += "]";
            } else text = std::to_string(reinterpret_cast<uintptr_t>(x));
        } else text = tla_log::Describe<T>::of(x);
    }
    template <typename T> static Arg MakeArg() { Arg a; a.text = '"' + tla_log::type_name<T>() + '"'; return a; }
    template <typename T> static Arg MakeArgWithValue(const T& x) { return Arg(x); }
};

namespace Catlass::Test {
inline void log_line(const char* name, const std::vector<Arg>& types, const std::vector<Arg>& args)
{
    if (!tla_log::enabled()) return;
    auto joined = [](const std::vector<Arg>& list) { std::string s; for (auto& a : list) s += (s.empty() ? "" : ", ") + a.text; return s; };
    std::printf("{\"call\": \"%s\", \"types\": [%s], \"args\": [%s]}\n", name, joined(types).c_str(), joined(args).c_str());
}
}
#define ASCENDC_LOG_CALL(NAME, ARGS) ::Catlass::Test::log_line(#NAME, {}, ARGS)
#define ASCENDC_LOG_CALL_T(NAME, TYPES, ARGS) ::Catlass::Test::log_line(#NAME, TYPES, ARGS)

enum pipe_t { PIPE_S, PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_ALL, PIPE_FIX };
enum event_t { EVENT_ID0, EVENT_ID1, EVENT_ID2, EVENT_ID3, EVENT_ID4, EVENT_ID5, EVENT_ID6, EVENT_ID7 };
using GM_ADDR = uint8_t*;

#if defined(__linux__) && defined(__x86_64__)
// BlockMmad with preloads takes a number modulo the tiles of the next block, of which the last has none: it uses nothing of
// what comes of it, and a core goes on, where a host stops. Here x / 0 is 0, x % 0 is x.
namespace tla_log {
inline void skip_division(int, siginfo_t*, void* state)
{
    auto& at = static_cast<ucontext_t*>(state)->uc_mcontext.gregs;
    auto code = reinterpret_cast<const uint8_t*>(at[REG_RIP]);
    int n = (code[0] & 0xf0) == 0x40;  // a prefix
    if (code[n] != 0xf7) std::abort();
    int mode = code[n + 1] >> 6;
    at[REG_RIP] += n + 2 + (mode == 1 ? 1 : mode == 2 ? 4 : 0);
    at[REG_RDX] = at[REG_RAX];
    at[REG_RAX] = 0;
}
inline const bool divisions = [] {
    struct sigaction action; std::memset(&action, 0, sizeof action);
    action.sa_sigaction = skip_division; action.sa_flags = SA_SIGINFO;
    return sigaction(SIGFPE, &action, nullptr) == 0;
}();
}
#endif

namespace AscendC {
constexpr int32_t AIC = 1, AIV = 2, MIX = 3;
}
#ifndef TLA_LOG_CORE
#define TLA_LOG_CORE AscendC::AIC
#endif
constexpr int32_t g_coreType = TLA_LOG_CORE;
#define ASCEND_IS_AIC constexpr (g_coreType == AscendC::AIC)
#define ASCEND_IS_AIV constexpr (g_coreType == AscendC::AIV)

namespace AscendC {
enum class TPosition : int32_t;
enum class CacheMode { CACHE_MODE_DISABLE, CACHE_MODE_NORMAL };
template <typename T> constexpr double bits_of() { return sizeof(T) * 8; }

struct Address { int32_t position = 0; uint64_t address = 0; };
template <typename T> class LocalTensor {
public:
    using PrimType = T;
    Address address_;
    uint64_t size = 0;
    LocalTensor() = default;
    LocalTensor(TPosition place, uint32_t at, uint32_t n) : address_{static_cast<int32_t>(place), at}, size(n) {}
    uint32_t GetSize() const { return size; }
    void SetSize(uint32_t n) { size = n; }
    void SetAddr(uint64_t offset) { address_.address += offset; }
    void SetAddr(const Address& at) { address_ = at; }
    int32_t GetPosition() const { return address_.position; }
    uint64_t GetPhyAddr() const { return address_.address; }
    template <typename U> LocalTensor<U> ReinterpretCast() const { LocalTensor<U> r; r.size = size; r.address_ = address_; return r; }
    LocalTensor operator[](uint32_t offset) const;
    T GetValue(uint32_t) const { return T(); }
    void SetValue(uint32_t, T) const {}
    void describe(tla_log::Fields& f) const { f.add("type", tla_log::type_name<T>()).add("position", address_.position).add("address", address_.address); }
};
template <typename T> class GlobalTensor {
public:
    using PrimType = T;
    uint64_t address = 0;
    void SetGlobalBuffer(T* p, uint64_t = 0) { address = reinterpret_cast<uint64_t>(p); }
    uint64_t GetSize() const { return 0; }
    T* GetPhyAddr() const { return reinterpret_cast<T*>(address); }
    T* GetPhyAddr(uint64_t n) const { return reinterpret_cast<T*>((*this)[n].address); }
    void SetL2CacheHint(CacheMode) {}
    T GetValue(uint64_t i) const
    {
        if constexpr (std::is_same_v<T, int64_t>) return reinterpret_cast<const T*>(address)[i];  // lists of groups are on the host
        return T();
    }
    GlobalTensor operator[](uint64_t offset) const;
    template <typename U> GlobalTensor<U> ReinterpretCast() const { GlobalTensor<U> r; r.address = address; return r; }
    void describe(tla_log::Fields& f) const { f.add("type", tla_log::type_name<T>()).add("position", -1).add("address", address); }
};

enum class HardEvent {
    MTE2_MTE1, MTE1_MTE2, MTE1_M, M_MTE1, MTE2_V, V_MTE2, MTE3_V, V_MTE3, M_V, V_M, V_V, MTE3_MTE1, MTE1_MTE3, MTE1_V, MTE2_M, M_MTE2,
    V_MTE1, M_FIX, FIX_M, MTE3_MTE2, MTE2_MTE3, S_V, V_S, S_MTE2, MTE2_S, S_MTE3, MTE3_S, MTE2_FIX, FIX_MTE2, FIX_S, M_S, FIX_MTE3, MTE1_FIX,
    FIX_MTE1, FIX_FIX, FIX_V, MTE3_MTE3, MAX
};
template <HardEvent e> struct EventName { static std::string get() { std::string s = __PRETTY_FUNCTION__; auto b = s.rfind("::") + 2; return s.substr(b, s.find(']', b) - b); } };
inline void log_flag(const char* call, const std::string& event, int id)
{
    if (tla_log::enabled()) std::printf("{\"call\": \"%s\", \"event\": \"%s\", \"id\": %d}\n", call, event.c_str(), id);
}
template <HardEvent e> inline void SetFlag(int32_t id) { log_flag("SetFlag", EventName<e>::get(), id); }
template <HardEvent e> inline void WaitFlag(int32_t id) { log_flag("WaitFlag", EventName<e>::get(), id); }
template <pipe_t pipe> inline void PipeBarrier()
{
    static const char* names[] = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "ALL", "FIX"};
    if (tla_log::enabled()) std::printf("{\"call\": \"PipeBarrier\", \"pipe\": \"%s\"}\n", names[pipe]);
}
template <uint8_t mode, pipe_t pipe> inline void CrossCoreSetFlag(uint16_t) {}
template <uint8_t mode = 0, pipe_t pipe = PIPE_S> inline void CrossCoreWaitFlag(uint16_t) {}
template <pipe_t pipe> inline void CrossCoreSetFlag(uint16_t) {}
template <bool x = true> inline void SyncAll() {}
inline void SetHF32Mode(bool) {}
inline void SetMMLayoutTransform(bool) {}
inline void SetLoadDataPaddingValue(uint64_t) {}
template <typename T> inline void SetAtomicAdd() { if (tla_log::enabled()) std::printf("{\"call\": \"SetAtomicAdd\", \"types\": [\"%s\"]}\n", tla_log::type_name<T>().c_str()); }
inline void SetAtomicNone() { if (tla_log::enabled()) std::printf("{\"call\": \"SetAtomicNone\"}\n"); }
using TEventID = int32_t;
// The fields in the order of CANN's constructors: of dst and the sources, first the steps of blocks, then those of repeats.
struct UnaryRepeatParams {
    uint16_t dstBlkStride = 1, srcBlkStride = 1; uint8_t dstRepStride = 8, srcRepStride = 8;
    UnaryRepeatParams() = default;
    UnaryRepeatParams(uint16_t dst, uint16_t src, uint8_t dstRep, uint8_t srcRep) : dstBlkStride(dst), srcBlkStride(src), dstRepStride(dstRep), srcRepStride(srcRep) {}
};
struct BinaryRepeatParams {
    uint8_t dstBlkStride = 1, src0BlkStride = 1, src1BlkStride = 1, dstRepStride = 8, src0RepStride = 8, src1RepStride = 8;
    BinaryRepeatParams() = default;
    BinaryRepeatParams(uint8_t dst, uint8_t src0, uint8_t src1, uint8_t dstRep, uint8_t src0Rep, uint8_t src1Rep)
        : dstBlkStride(dst), src0BlkStride(src0), src1BlkStride(src1), dstRepStride(dstRep), src0RepStride(src0Rep), src1RepStride(src1Rep) {}
};
struct Anything { template <typename... A> Anything(A&&...) {} };
struct CopyRepeatParams { uint16_t dstStride = 1, srcStride = 1, dstRepeatSize = 8, srcRepeatSize = 8; };
struct TransDataTo5HDParams {
    bool dstHighHalf = false, srcHighHalf = false; uint8_t repeatTimes = 1; uint16_t dstRepStride = 0, srcRepStride = 0;
    TransDataTo5HDParams() = default;
    TransDataTo5HDParams(bool dst, bool src, uint8_t n, uint16_t to, uint16_t from) : dstHighHalf(dst), srcHighHalf(src), repeatTimes(n), dstRepStride(to), srcRepStride(from) {}
};
inline Arg addresses(const uint64_t (&list)[16])
{
    Arg a; for (auto n : list) a.text += (a.text.empty() ? "[" : ", ") + std::to_string(n);
    a.text += "]"; return a;
}
template <typename T> inline void TransDataTo5HD(uint64_t (&dst)[16], uint64_t (&src)[16], const TransDataTo5HDParams& params)
{ ASCENDC_LOG_CALL_T(TransDataTo5HD, std::vector<Arg>{Arg::MakeArg<T>()}, (std::vector<Arg>{addresses(dst), addresses(src), params})); }
template <typename T> inline T CeilDivision(T a, T b) { return (a + b - 1) / b; }
namespace Mutex {
template <pipe_t p> inline void Lock(int32_t id) { (void)id; }
template <pipe_t p> inline void Unlock(int32_t id) { (void)id; }
template <typename... A> inline int32_t AllocMutexID(A&&...) { return 0; }
template <typename... A> inline void ReleaseMutexID(A&&...) {}
}
template <typename T, typename U, typename P> inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const P& params);
inline int64_t GetBlockIdx() { return tla_log::block_index(); }
inline int64_t GetBlockNum() { return tla_log::block_count(); }
namespace Std {
template <typename T> T min(T a, T b) { return a < b ? a : b; }
template <typename T> T max(T a, T b) { return a < b ? b : a; }
}
inline int64_t GetSubBlockIdx() { return 0; }
inline int64_t GetSubBlockNum() { return 1; }
inline int64_t GetTaskRatio() { return 1; }

template <TPosition P> struct TBuf {
    uint32_t length = 0;
    template <typename T> LocalTensor<T> Get() const { LocalTensor<T> t; t.address_.position = static_cast<int32_t>(P); t.size = length; return t; }
};
struct TPipe {
    template <typename B> void InitBuffer(B& b, uint32_t n) { b.length = n; }
    void Destroy() {}
};
inline TPipe& the_pipe() { static TPipe p; return p; }
template <typename T> struct SizeOfBits { static constexpr uint32_t value = sizeof(T) * 8; };
struct int4b_t;
template <> struct SizeOfBits<int4b_t> { static constexpr uint32_t value = 4; };
template <> struct SizeOfBits<float4_e2m1x2_t> { static constexpr uint32_t value = 4; };
template <> struct SizeOfBits<float4_e1m2x2_t> { static constexpr uint32_t value = 4; };
template <typename T> LocalTensor<T> LocalTensor<T>::operator[](uint32_t offset) const
{ LocalTensor r = *this; r.address_.address += uint64_t(offset) * SizeOfBits<T>::value / 8; return r; }
template <typename T> GlobalTensor<T> GlobalTensor<T>::operator[](uint64_t offset) const
{ GlobalTensor r = *this; r.address += offset * SizeOfBits<T>::value / 8; return r; }
template <typename T, typename U, typename P> inline void DataCopy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const P& params)
{
    ASCENDC_LOG_CALL_T(DataCopy, std::vector<Arg>{Arg::MakeArg<T>()}, (std::vector<Arg>{dst, src, params}));
}
template <typename T>
inline void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, uint8_t repeats, const CopyRepeatParams& params)
{
    ASCENDC_LOG_CALL_T(Copy, std::vector<Arg>{Arg::MakeArg<T>()}, (std::vector<Arg>{dst, src, mask, repeats, params}));
}
// Calls whose result has another shape than their sources, and those of the register of masks.
enum class CMPMODE : uint8_t { LT, GT, EQ, LE, GE, NE };
enum class SELMODE : uint8_t { VSEL_CMPMASK_SPR, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };
enum class ReduceOrder { ORDER_VALUE_INDEX, ORDER_INDEX_VALUE, ORDER_ONLY_VALUE, ORDER_ONLY_INDEX };
struct BrcbRepeatParams {
    uint16_t dstBlkStride = 1, dstRepStride = 8;
    BrcbRepeatParams() = default;
    BrcbRepeatParams(uint16_t block, uint16_t repeat) : dstBlkStride(block), dstRepStride(repeat) {}
};
#define TLA_LOG_ARGS(NAME, ...) ASCENDC_LOG_CALL_T(NAME, std::vector<Arg>{Arg::MakeArg<T>()}, (std::vector<Arg>{__VA_ARGS__}))
template <typename T, bool = true, typename U = T> inline void Duplicate(const LocalTensor<T>& dst, const U& scalar, int32_t count)
{ TLA_LOG_ARGS(Duplicate, dst, static_cast<T>(scalar), count); }
template <typename T, bool = true, typename U = T>
inline void Duplicate(const LocalTensor<T>& dst, const U& scalar, uint64_t mask, uint8_t repeats, uint16_t block, uint8_t repeat)
{ TLA_LOG_ARGS(Duplicate, dst, static_cast<T>(scalar), mask, repeats, block, repeat); }
#define TLA_LOG_STRIDES(NAME)                                                                                                   \
    template <typename T, bool = true>                                                                                          \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask, uint8_t repeats, const BinaryRepeatParams& params) \
    { TLA_LOG_ARGS(NAME, dst, src0, src1, mask, repeats, params); }
TLA_LOG_STRIDES(Add) TLA_LOG_STRIDES(Mul) TLA_LOG_STRIDES(Div)  // the stubs take any pointer for the strides, and log none
#define TLA_LOG_ONE(NAME)                                                                                                       \
    template <typename T, bool = true>                                                                                          \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint64_t mask, uint8_t repeats, const UnaryRepeatParams& params) \
    { TLA_LOG_ARGS(NAME, dst, src, mask, repeats, params); }
TLA_LOG_ONE(Exp) TLA_LOG_ONE(Relu)
#define TLA_LOG_SCALAR(NAME)                                                                                                    \
    template <typename T, bool = true>                                                                                          \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalar, uint64_t mask, uint8_t repeats, const UnaryRepeatParams& params) \
    { TLA_LOG_ARGS(NAME, dst, src, scalar, mask, repeats, params); }
TLA_LOG_SCALAR(Adds) TLA_LOG_SCALAR(Muls) TLA_LOG_SCALAR(Axpy) TLA_LOG_SCALAR(LeakyRelu)
enum class RoundMode;
template <typename T, typename U, bool = true>
inline void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, const RoundMode& mode, uint64_t mask, uint8_t repeats, const UnaryRepeatParams& params)
{ TLA_LOG_ARGS(Cast, dst, src, mode, mask, repeats, params); }
template <typename T> inline void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src, uint8_t repeats, const BrcbRepeatParams& params)
{ TLA_LOG_ARGS(Brcb, dst, src, repeats, params); }
template <typename T, bool = true>
inline void WholeReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t mask, int32_t repeats, int32_t to, int32_t block, int32_t repeat)
{ TLA_LOG_ARGS(WholeReduceSum, dst, src, mask, repeats, to, block, repeat); }
#define TLA_LOG_WHOLE(NAME)                                                                                                     \
    template <typename T, bool = true>                                                                                          \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t mask, int32_t repeats, int32_t to, int32_t block, \
                     int32_t repeat, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX)                                        \
    { TLA_LOG_ARGS(NAME, dst, src, mask, repeats, to, block, repeat, order); }
TLA_LOG_WHOLE(WholeReduceMax) TLA_LOG_WHOLE(WholeReduceMin)
#define TLA_LOG_BLOCKS(NAME)                                                                                                    \
    template <typename T, bool = true>                                                                                          \
    inline void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t repeats, int32_t mask, int32_t to, int32_t block, int32_t repeat) \
    { TLA_LOG_ARGS(NAME, dst, src, repeats, mask, to, block, repeat); }
TLA_LOG_BLOCKS(BlockReduceSum) TLA_LOG_BLOCKS(BlockReduceMax) TLA_LOG_BLOCKS(BlockReduceMin) TLA_LOG_BLOCKS(PairReduceSum)
template <typename T, bool = true>
inline void RepeatReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t repeats, int32_t mask, int32_t none, int32_t block, int32_t to, int32_t repeat)
{ TLA_LOG_ARGS(RepeatReduceSum, dst, src, repeats, mask, none, block, to, repeat); }
template <typename T, typename U>
inline void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode, uint32_t count)
{ TLA_LOG_ARGS(Compare, dst, src0, src1, mode, count); }
template <typename T, typename U, typename P>
inline void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE mode, uint64_t mask, uint8_t repeats, const P& params)
{ TLA_LOG_ARGS(Compare, dst, src0, src1, mode, mask, repeats, params); }
template <typename T, typename U>
inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& bits, const LocalTensor<T>& src0, const LocalTensor<T>& src1, SELMODE mode, uint32_t count)
{ TLA_LOG_ARGS(Select, dst, bits, src0, src1, mode, count); }
template <typename T, typename U, typename P>
inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& bits, const LocalTensor<T>& src0, const LocalTensor<T>& src1, SELMODE mode, uint64_t mask, uint8_t repeats, const P& params)
{ TLA_LOG_ARGS(Select, dst, bits, src0, src1, mode, mask, repeats, params); }
template <typename T>
inline void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& table, uint32_t base, uint32_t count)
{ TLA_LOG_ARGS(Gather, dst, src, table, base, count); }
template <typename T> inline void SetVectorMask(uint64_t high, uint64_t low) { TLA_LOG_ARGS(SetVectorMask, high, low); }
template <typename T, typename U, typename S, typename P>
inline void MmadWithSparse(const LocalTensor<T>& dst, const LocalTensor<U>& a, const LocalTensor<S>& b, const P& params)
{
    ASCENDC_LOG_CALL_T(MmadWithSparse, std::vector<Arg>{Arg::MakeArg<T>()}, (std::vector<Arg>{dst, a, b, params}));
}
template <typename T, typename P>
inline void LoadDataWithSparse(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& index, const P& params)
{
    ASCENDC_LOG_CALL_T(LoadDataWithSparse, std::vector<Arg>{Arg::MakeArg<T>()}, (std::vector<Arg>{dst, src, index, params}));
}
template <typename T, typename U> inline void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, U scalar, int32_t count)
{ TLA_LOG_ARGS(Axpy, dst, src, scalar, count); }
template <typename T> inline void Div(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, int32_t count)
{ TLA_LOG_ARGS(Div, dst, src0, src1, count); }
// An operand of MX types with its scales.
template <typename T, typename U, typename S, typename P, typename Q>
inline void LoadData(const LocalTensor<U>& dst, const LocalTensor<T>& src, const LocalTensor<S>& scales, const P& params, const Q& more)
{ TLA_LOG_ARGS(LoadData, dst, src, scales, params, more); }
template <typename T, typename P> inline void InitConstValue(const LocalTensor<T>& dst, const P& params)
{ TLA_LOG_ARGS(InitConstValue, dst, params); }
}  // namespace AscendC
inline AscendC::TPipe* GetTPipePtr() { return &AscendC::the_pipe(); }
#define unlikely(x) (x)
inline uint32_t min(uint32_t a, uint32_t b) { return a < b ? a : b; }
inline uint32_t max(uint32_t a, uint32_t b) { return a > b ? a : b; }
