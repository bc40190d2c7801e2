// What an app needs: the node, its home and status; databases and documents; and errors.
@_exported import struct KithDocuments.DatabaseName
@_exported import struct KithDocuments.DocumentID
@_exported import struct KithDocuments.ErrorCode
@_exported import struct KithDocuments.KithError
@_exported import struct KithDocuments.RevisionID
@_exported import class KithNode.Node
@_exported import class KithNode.NodeHome
@_exported import struct KithNode.NodeOptions
@_exported import struct KithNode.NodeStatus
@_exported import struct KithStore.Change
@_exported import class KithStore.Database
@_exported import struct KithStore.StoredDocument
@_exported import struct KithTrust.NodeID
