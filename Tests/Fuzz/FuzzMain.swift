// The package manager gives every executable an entry point of its own name, so libFuzzer's `main` is not used: this
// one calls libFuzzer.

import Glibc

/// libFuzzer's entry (a C function with pointers as arguments, for which Swift's calling convention is C's).
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// The program's entry point. Without `KITH_FUZZ_TARGET` it lists the targets.
@_cdecl("KithFuzz_main")
public func fuzzMain(_ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> CInt {
    guard getenv("KITH_FUZZ_TARGET") != nil else {
        for name in fuzzTargetNames { print(name) }
        return 0
    }
    var count = count
    var arguments = arguments
    return runDriver(&count, &arguments, testOneInput)
}
