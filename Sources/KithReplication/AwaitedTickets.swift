/// What of a tracker waits for one revision: nearly always one sequence, so that nothing is allocated for it.
struct AwaitedTickets {
    let first: Int
    var others: [Int] = []

    init(_ ticket: Int) { first = ticket }
}
