import CAvahi

extension AvahiSession {
    /// Puts this node on the network, unless it is there or on its way already.
    func publish(_ client: OpaquePointer) {
        if group == nil {
            group = avahi_entry_group_new(
                client, sessionGroupChanged, Unmanaged.passUnretained(self).toOpaque())
        }
        guard let group else { return notPublished(avahi_client_errno(client)) }
        guard avahi_entry_group_is_empty(group) != 0 else { return }
        addService(to: group)
    }

    /// Adds the service under the present name, going on to other names while this daemon knows one to be taken.
    private func addService(to group: OpaquePointer) {
        while true {
            let code = addServiceOnce(to: group)
            if code == Int32(AVAHI_ERR_COLLISION), takeNextName() { continue }
            if code != Int32(AVAHI_OK) { notPublished(code) }
            return
        }
    }

    private func addServiceOnce(to group: OpaquePointer) -> Int32 {
        let compactID = shortID.filter { $0 != "-" }
        // The list is ours, and freed here: Avahi copies it.
        var text = avahi_string_list_add_pair(nil, "id", compactID)
        text = avahi_string_list_add_pair(text, "v", String(advertisement.protocolVersion))
        defer { avahi_string_list_free(text) }
        let code = avahi_entry_group_add_service_strlst(
            group, AvahiIfIndex(AVAHI_IF_UNSPEC), AvahiProtocol(AVAHI_PROTO_UNSPEC), AvahiPublishFlags(rawValue: 0),
            serviceName,
            ServiceAdvertisement.serviceType, nil, nil, advertisement.port, text)
        return code == Int32(AVAHI_OK) ? avahi_entry_group_commit(group) : code
    }

    /// The present name is taken: takes another. Answers whether there is one left to try.
    private func takeNextName() -> Bool {
        namesTaken += 1
        guard namesTaken < DiscoveryLimits.namesTriedMax else { return false }
        serviceName = ServiceName.alternative(
            to: serviceName, base: advertisement.name, attempt: namesTaken, shortID: shortID)
        return true
    }

    /// Takes another name when somebody else has this one. Avahi notices most collisions itself, but not all: a node that
    /// probes for a name in the second after another has announced it gets it too, and then the two hide each other.
    ///
    /// Whoever is not published yet gives way, else the one with the larger ID.
    func giveWay(to node: DiscoveredNode) {
        guard !node.isOwn, Array(node.instanceName.utf8) == Array(serviceName.utf8), let group else { return }
        guard !isPublished || node.shortID.utf8.lexicographicallyPrecedes(shortID.utf8), takeNextName() else { return }
        isPublished = false
        avahi_entry_group_reset(group)
        addService(to: group)
    }

    func groupChanged(_ group: OpaquePointer, _ state: AvahiEntryGroupState) {
        switch state {
        case AVAHI_ENTRY_GROUP_ESTABLISHED:
            reportPublished()
        case AVAHI_ENTRY_GROUP_COLLISION:
            // Avahi has emptied the group.
            isPublished = false
            if takeNextName() { addService(to: group) } else { notPublished(Int32(AVAHI_ERR_COLLISION)) }
        case AVAHI_ENTRY_GROUP_FAILURE:
            notPublished(avahi_client_errno(avahi_entry_group_get_client(group)))
        default:
            break
        }
    }

    private func notPublished(_ code: Int32) {
        // A lost daemon is told by the client, which builds everything anew.
        guard code != Int32(AVAHI_ERR_DISCONNECTED) else { return }
        let remedy =
            code == Int32(AVAHI_ERR_COLLISION)
            ? "Give this node another name"
            : "See 'disable-publishing' and 'objects-per-client-max' in /etc/avahi/avahi-daemon.conf"
        reportNotPublished("avahi-daemon does not publish this node: \(Self.text(code))", remedy: remedy)
    }
}

private func sessionGroupChanged(
    _ group: OpaquePointer?, _ state: AvahiEntryGroupState, _ context: UnsafeMutableRawPointer?
) {
    Unmanaged<AvahiSession>.fromOpaque(context!).takeUnretainedValue().groupChanged(group!, state)
}
