/// What a message that is under way is known by. Request 5 of one side and the response to request 5 of the other are
/// unrelated, so the number alone is not enough (blip.md §5.2).
struct BLIPMessageKey: Hashable {
    let number: UInt64
    let isResponse: Bool
}
