// kith-discovery-probe NAME PORT SHORT-ID [VERSION]: publishes and browses as a node does and prints each event as a line,
// until its standard input ends; then it says goodbye and prints "stopped".
import Glibc
import KithDiscovery

let arguments = CommandLine.arguments
guard arguments.count >= 4, let port = UInt16(arguments[2]) else {
    print("usage: \(arguments[0]) NAME PORT SHORT-ID [VERSION]")
    exit(64)
}
let discovery = Discovery(
    advertisement: ServiceAdvertisement(
        name: arguments[1], port: port, nodeShortID: arguments[3],
        protocolVersion: arguments.count > 4 ? Int(arguments[4]) ?? 1 : 1),
    onEvent: makeProbePrinter())
try discovery.start()
while readLine() != nil {}
discovery.stop()
printLine("stopped")
