import Glibc
import KithCommands

exit(await Program.main())
