// KithStoreProbe ROLE PATH ...: opens the database at PATH and plays one role with it, as a process that tests can kill:
//
//   write PATH SEED            makes the database if need be and writes until it is killed; prints each write that was
//                              acknowledged, "ID REVISION SEQUENCE"
//   stream PATH SEED [PIECES]  streams blobs in, numbered from SEED on, until it is killed: see StreamRole
//   verify PATH                reads such lines from standard input and says what of them the database does not have
//   share PATH SEED SECONDS    counts up in documents that another process counts up as well; prints what it has added
//   fill PATH                  does what standard input asks for, on a disk that fills up: see FillRole
//   obey PATH                  does what lines of standard input say, "put ID" or "delete ID", and prints the sequences
//   locks PATH                 says whether another process has locks on the file
import Glibc

let arguments = CommandLine.arguments
do {
    switch (arguments.count > 1 ? arguments[1] : "", arguments.count) {
    case ("write", 4):
        try WriteRole(path: arguments[2], seed: number(arguments[3])).run()
    case ("stream", 4), ("stream", 5):
        let piecesMax = arguments.count == 5 ? number(arguments[4]) : .max
        try StreamRole(path: arguments[2], seed: number(arguments[3]), piecesMax: piecesMax).run()
    case ("verify", 3):
        try VerifyRole(path: arguments[2]).run()
    case ("share", 5):
        try ShareRole(path: arguments[2], seed: number(arguments[3]), seconds: number(arguments[4])).run()
    case ("fill", 3):
        FillRole(path: arguments[2]).run()
    case ("obey", 3):
        try ObeyRole(path: arguments[2]).run()
    case ("locks", 3):
        LocksRole(path: arguments[2]).run()
    default:
        printError("usage: \(arguments[0]) write|stream|verify|share|fill|obey|locks PATH ...; see main.swift")
        exit(64)
    }
} catch {
    printError("\(error)")
    exit(1)
}
