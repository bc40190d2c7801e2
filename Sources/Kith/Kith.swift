@_exported import KithNode
