/// Every statement of the store's hot paths, by name; each connection prepares one at its first use and keeps it.
enum StoreQuery: Int, CaseIterable {
    case begin, beginWrite, commit, rollback, savepoint, releaseSavepoint, rollbackToSavepoint
    case counters, setCounters, settings, collectionNumber, insertCollection, places, dataVersion
    case document, documentWithBody, documentWithBodyAt, bodyBySequence, leafBody
    case insertDocument, updateDocument, updateTree, keepWinnerAsLeaf, insertLeafBody, deleteLeafBody, leafRevisions
    case deleteDocument, deleteLeafBodies, setExpiry, expiry, expired, nextExpiry
    case blobByDigest, insertBlob, extendBlob, finishBlob, leaseBlob, abandonBlob, insertPiece, pieces
    case blobBeginning, blobBeginnings, resumeBlob
    case insertBlobUse, countBlobUse, discountBlobUses, deleteBlobUses, hasBlobUses
    case discountAllBlobUses, deleteAllBlobUses
    case unusedBlob, nextUnusedBlob, hideBlob, deletePieces, deleteBlob
    case changes, changesDescending, sequence, pendingCount, countThrough, countBetween
    case conflicts, allAscending, allDescending, allForDigest
    case localDocument, localDocuments, localDocumentCount, setLocalDocument, deleteLocalDocument

    /// The statement, for the tables of a collection where it is about documents.
    func sql(collection: Int) -> String {
        let document = "document_\(collection)"
        let leaf = "leaf_\(collection)"
        let local = "local_\(collection)"
        return switch self {
        case .begin: "BEGIN"
        // The lock is taken at once, so that no body fails halfway because another process writes.
        case .beginWrite: "BEGIN IMMEDIATE"
        case .commit: "COMMIT"
        case .rollback: "ROLLBACK"
        case .savepoint: "SAVEPOINT body"
        case .releaseSavepoint: "RELEASE body"
        case .rollbackToSavepoint: "ROLLBACK TO body"

        case .counters: "SELECT last_sequence, live, deleted, conflicts FROM collection WHERE number = \(collection)"
        case .setCounters:
            """
            UPDATE collection SET last_sequence = ?1, live = ?2, deleted = ?3, conflicts = ?4
            WHERE number = \(collection)
            """

        case .settings: "SELECT revisions_limit, keeps_old_bodies, merge_policy FROM meta"
        case .collectionNumber: "SELECT number FROM collection WHERE name = ?1"
        case .insertCollection:
            "INSERT INTO collection (number, name, last_sequence, live, deleted, conflicts) VALUES (?1, ?2, ?3, 0, 0, 0)"

        case .places: "SELECT number, name, last_sequence FROM collection"
        case .dataVersion: "PRAGMA data_version"

        case .document: "SELECT sequence, revision, flags, tree FROM \(document) WHERE id = ?1"
        case .documentWithBody:
            "SELECT sequence, revision, flags, tree, body, attachments FROM \(document) WHERE id = ?1"
        case .documentWithBodyAt:
            "SELECT sequence, revision, flags, tree, body, attachments FROM \(document) WHERE sequence = ?2 AND id = ?1"
        case .bodyBySequence: "SELECT body FROM \(document) WHERE sequence = ?1"
        case .leafBody: "SELECT body, attachments FROM \(leaf) WHERE id = ?1 AND revision = ?2"

        case .insertDocument:
            """
            INSERT INTO \(document) (sequence, id, revision, flags, tree, body, attachments)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            """
        case .updateDocument:
            """
            UPDATE \(document) SET sequence = ?1, revision = ?3, flags = ?4, tree = ?5, body = coalesce(?6, body),
                attachments = CASE WHEN ?6 IS NULL THEN attachments ELSE ?7 END
            WHERE sequence = ?2
            """
        case .updateTree: "UPDATE \(document) SET tree = ?2, flags = ?3 WHERE sequence = ?1"
        case .keepWinnerAsLeaf:
            """
            INSERT INTO \(leaf) (id, revision, attachments, body)
            SELECT id, revision, attachments, body FROM \(document) WHERE sequence = ?1
            """
        case .insertLeafBody: "INSERT INTO \(leaf) (id, revision, body, attachments) VALUES (?1, ?2, ?3, ?4)"
        case .deleteLeafBody: "DELETE FROM \(leaf) WHERE id = ?1 AND revision = ?2"

        case .leafRevisions: "SELECT revision FROM \(leaf) WHERE id = ?1"
        case .deleteDocument: "DELETE FROM \(document) WHERE sequence = ?1"
        case .deleteLeafBodies: "DELETE FROM \(leaf) WHERE id = ?1"
        case .setExpiry: "UPDATE \(document) SET expires = ?2 WHERE id = ?1"
        case .expiry: "SELECT expires FROM \(document) WHERE id = ?1"
        case .expired:
            "SELECT id FROM \(document) WHERE expires IS NOT NULL AND expires <= ?1 ORDER BY expires LIMIT ?2"
        case .nextExpiry: "SELECT min(expires) FROM \(document) WHERE expires IS NOT NULL"

        case .blobByDigest: "SELECT number, length FROM blob WHERE digest = ?1"
        case .insertBlob:
            """
            INSERT INTO blob (digest, length, uses, leased_until, expected, expected_length)
            VALUES (?1, ?2, 0, ?3, ?4, ?5)
            """
        case .extendBlob:
            "UPDATE blob SET length = ?3, leased_until = ?4 WHERE number = ?1 AND digest IS NULL AND length = ?2"
        case .finishBlob:
            """
            UPDATE blob SET digest = ?2, leased_until = ?3, expected = NULL, expected_length = NULL
            WHERE number = ?1 AND digest IS NULL
            """
        case .leaseBlob: "UPDATE blob SET leased_until = max(leased_until, ?2) WHERE number = ?1"
        case .abandonBlob:
            "UPDATE blob SET leased_until = 0, expected = NULL WHERE number = ?1 AND digest IS NULL AND length = ?2"
        case .blobBeginning:
            """
            SELECT number, length FROM blob
            WHERE expected = ?1 AND expected_length = ?2 AND leased_until > ?3 AND digest IS NULL ORDER BY length DESC
            """
        case .blobBeginnings:
            """
            SELECT number, length, leased_until FROM blob WHERE expected IS NOT NULL
            ORDER BY leased_until DESC, number DESC
            """
        case .resumeBlob: "UPDATE blob SET leased_until = ?2 WHERE number = ?1 AND digest IS NULL"
        case .insertPiece: "INSERT INTO blob_piece (place, checksum, bytes) VALUES (?1, ?2, ?3)"
        case .pieces:
            "SELECT place, checksum, bytes FROM blob_piece WHERE place BETWEEN ?1 AND ?2 ORDER BY place LIMIT ?3"

        case .insertBlobUse:
            "INSERT OR IGNORE INTO blob_use (collection, id, revision, blob) VALUES (\(collection), ?1, ?2, ?3)"
        case .countBlobUse: "UPDATE blob SET uses = uses + 1 WHERE number = ?1"
        case .discountBlobUses:
            """
            UPDATE blob SET uses = uses - 1 WHERE number IN
                (SELECT blob FROM blob_use WHERE collection = \(collection) AND id = ?1 AND revision = ?2)
            """
        case .deleteBlobUses:
            "DELETE FROM blob_use WHERE collection = \(collection) AND id = ?1 AND revision = ?2"
        case .discountAllBlobUses:
            """
            UPDATE blob SET uses = uses - gone.number_of_uses FROM
                (SELECT blob, count(*) AS number_of_uses FROM blob_use WHERE collection = \(collection) AND id = ?1
                GROUP BY blob)
                AS gone
            WHERE number = gone.blob
            """
        case .deleteAllBlobUses: "DELETE FROM blob_use WHERE collection = \(collection) AND id = ?1"
        case .hasBlobUses: "SELECT EXISTS (SELECT 1 FROM blob_use WHERE collection = \(collection) AND id = ?1)"

        case .unusedBlob: "SELECT number FROM blob WHERE uses = 0 AND leased_until <= ?1 LIMIT 1"
        case .nextUnusedBlob: "SELECT min(leased_until) FROM blob WHERE uses = 0"
        // Without length, too, so that nobody who was adding to it goes on.
        case .hideBlob: "UPDATE blob SET digest = NULL, expected = NULL, length = 0 WHERE number = ?1"
        case .deletePieces:
            """
            DELETE FROM blob_piece WHERE place IN
                (SELECT place FROM blob_piece WHERE place BETWEEN ?1 AND ?2 LIMIT ?3)
            """
        case .deleteBlob: "DELETE FROM blob WHERE number = ?1"

        case .changes:
            """
            SELECT sequence, id, revision, flags, tree, CASE WHEN ?4 THEN body END FROM \(document)
            WHERE sequence > ?1 AND sequence <= ?2 ORDER BY sequence LIMIT ?3
            """
        case .changesDescending:
            """
            SELECT sequence, id, revision, flags, tree, CASE WHEN ?4 THEN body END FROM \(document)
            WHERE sequence > ?1 AND sequence <= ?2 ORDER BY sequence DESC LIMIT ?3
            """
        case .sequence: "SELECT sequence FROM \(document) WHERE id = ?1"
        case .pendingCount: "SELECT count(*) FROM \(document) WHERE sequence > ?1"
        case .countThrough: "SELECT count(*) FROM \(document) WHERE sequence <= ?1"
        case .countBetween: "SELECT count(*) FROM \(document) WHERE sequence BETWEEN ?1 AND ?2"
        case .conflicts:
            """
            SELECT sequence, id, revision, flags, tree FROM \(document) INDEXED BY conflict_\(collection)
            WHERE flags & 4 AND id > ?1 ORDER BY id LIMIT ?2
            """
        case .allAscending:
            """
            SELECT sequence, id, revision, flags, tree, CASE WHEN ?5 THEN body END,
                CASE WHEN ?5 THEN attachments END FROM \(document)
            WHERE id >= ?1 AND id <= ?2 AND flags & 1 <= ?4 ORDER BY id LIMIT ?3
            """
        case .allDescending:
            """
            SELECT sequence, id, revision, flags, tree, CASE WHEN ?5 THEN body END,
                CASE WHEN ?5 THEN attachments END FROM \(document)
            WHERE id >= ?1 AND id <= ?2 AND flags & 1 <= ?4 ORDER BY id DESC LIMIT ?3
            """
        case .allForDigest:
            "SELECT id, revision, flags, tree, body, attachments FROM \(document) ORDER BY id"

        case .localDocument: "SELECT body FROM \(local) WHERE name = ?1"
        case .localDocuments:
            """
            SELECT name, body FROM \(local)
            WHERE name >= ?1 AND substr(name, 1, length(?1)) = ?1 AND name > ?2 ORDER BY name LIMIT ?3
            """
        case .localDocumentCount:
            "SELECT count(*) FROM (SELECT 1 FROM \(local) WHERE name >= ?1 AND substr(name, 1, length(?1)) = ?1 LIMIT ?2)"
        case .setLocalDocument: "INSERT OR REPLACE INTO \(local) (name, body) VALUES (?1, ?2)"
        case .deleteLocalDocument: "DELETE FROM \(local) WHERE name = ?1"
        }
    }
}
