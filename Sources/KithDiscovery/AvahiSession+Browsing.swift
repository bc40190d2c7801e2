import CAvahi

extension AvahiSession {
    /// Looks for nodes, unless that is under way already.
    func browse(_ client: OpaquePointer) {
        if browser == nil {
            browser = avahi_service_browser_new(
                client, AvahiIfIndex(AVAHI_IF_UNSPEC), AvahiProtocol(AVAHI_PROTO_UNSPEC),
                ServiceAdvertisement.serviceType, nil,
                AvahiLookupFlags(rawValue: 0), sessionServiceSeen, Unmanaged.passUnretained(self).toOpaque())
        }
        guard browser != nil else { return failed(avahi_client_errno(client)) }
        refreshState()
    }

    func serviceSeen(
        _ event: AvahiBrowserEvent, interface: Int32, family: ServiceTable.Family?, name: UnsafePointer<CChar>?
    ) {
        switch event {
        case AVAHI_BROWSER_NEW:
            guard let name, let family else { return }
            let key = Self.key(name, interface)
            guard
                table.appeared(
                    key, name: String(decoding: key.name, as: UTF8.self),
                    interfaceName: NetworkInterfaces.name(interface), over: family)
            else { return }
            checkLookupsSoon(key)
        case AVAHI_BROWSER_REMOVE:
            guard let name, let family else { return }
            let key = Self.key(name, interface)
            if let event = table.disappeared(key, over: family) {
                refreshState()
                deliver(event)
            }
            checkLookupsSoon(key)
        case AVAHI_BROWSER_FAILURE:
            if let client { failed(avahi_client_errno(client)) }
        default:
            break  // all for now, cache exhausted
        }
    }

    private static func key(_ name: UnsafePointer<CChar>, _ interface: Int32) -> ServiceTable.Key {
        ServiceTable.Key(name: Array(String(cString: name).utf8), interface: interface)
    }

    /// Starts, ends and changes the look-ups of services that came, went, came back, or are seen over another family.
    func checkLookups() {
        let keys = lookupsToCheck
        lookupsToCheck = []
        for key in keys {
            let wanted = table.target(for: key)
            if let lookup = lookups[key] {
                if lookup.target == wanted { continue }
                end(lookup)
                lookups.removeValue(forKey: key)
            }
            if let wanted {
                let lookup = Lookup(session: self, key: key, target: wanted)
                lookups[key] = lookup
                start(lookup)
            }
        }
    }

    /// Asks again where an answer did not come.
    func retryLookups(_ now: Int64) {
        for lookup in lookups.values {
            guard let deadline = lookup.retryAt, deadline <= now else { continue }
            lookup.retryAt = nil
            end(lookup)
            start(lookup)
        }
    }

    private func start(_ lookup: Lookup) {
        guard let client else { return }
        table.lookUpStarted(lookup.key)
        // Without addresses: the resolver would tell one of them only.
        lookup.resolver = avahi_service_resolver_new(
            client, lookup.key.interface, Self.avahiProtocol(lookup.target.family),
            String(decoding: lookup.key.name, as: UTF8.self), ServiceAdvertisement.serviceType, nil,
            AvahiProtocol(AVAHI_PROTO_UNSPEC), AVAHI_LOOKUP_NO_ADDRESS, lookupResolved,
            Unmanaged.passUnretained(lookup).toOpaque())
        if lookup.resolver == nil { retryLater(lookup) }
    }

    private func end(_ lookup: Lookup) {
        if let resolver = lookup.resolver { avahi_service_resolver_free(resolver) }
        lookup.resolver = nil
        endAddresses(lookup)
    }

    private func endAddresses(_ lookup: Lookup) {
        for browser in lookup.addressBrowsers { avahi_record_browser_free(browser) }
        lookup.addressBrowsers = []
        lookup.hostName = []
    }

    /// The answer about a service did not come, or cannot be asked for now.
    func retryLater(_ lookup: Lookup) {
        guard lookup.retryAt == nil else { return }
        lookup.retryAt = Self.monotonicMilliseconds() + lookup.backoff.take()
        armTimer()
    }

    func resolved(_ lookup: Lookup, hostName: [UInt8], port: UInt16, text: [[UInt8]]) {
        lookup.backoff.reset()
        table.resolved(lookup.key, port: port, text: text)
        if hostName != lookup.hostName {
            endAddresses(lookup)
            table.lookUpStarted(lookup.key)
            startAddresses(lookup, of: hostName)
        }
        reportChangesSoon()
    }

    private func startAddresses(_ lookup: Lookup, of hostName: [UInt8]) {
        guard let client else { return }
        lookup.hostName = hostName
        let name = String(decoding: hostName, as: UTF8.self)
        for type in [RecordType.a, RecordType.aaaa] {
            guard
                let browser = avahi_record_browser_new(
                    client, lookup.key.interface, Self.avahiProtocol(lookup.target.family), name, RecordType.internet,
                    type,
                    AvahiLookupFlags(rawValue: 0), lookupAddressSeen, Unmanaged.passUnretained(lookup).toOpaque())
            else {
                retryLater(lookup)
                continue
            }
            lookup.addressBrowsers.append(browser)
        }
    }

    func addressSeen(_ lookup: Lookup, _ event: AvahiBrowserEvent, recordData: [UInt8]) {
        switch event {
        case AVAHI_BROWSER_NEW: table.address(lookup.key, recordData: recordData, isThere: true)
        case AVAHI_BROWSER_REMOVE: table.address(lookup.key, recordData: recordData, isThere: false)
        case AVAHI_BROWSER_FAILURE: retryLater(lookup)
        default: break
        }
        reportChangesSoon()
    }

    private static func avahiProtocol(_ family: ServiceTable.Family) -> AvahiProtocol {
        switch family {
        case .ipv4: AvahiProtocol(AVAHI_PROTO_INET)
        case .ipv6: AvahiProtocol(AVAHI_PROTO_INET6)
        }
    }

    /// The family of one of Avahi's protocol numbers; `nil` for others.
    static func family(_ number: Int32) -> ServiceTable.Family? {
        switch number {
        case AvahiProtocol(AVAHI_PROTO_INET): .ipv4
        case AvahiProtocol(AVAHI_PROTO_INET6): .ipv6
        default: nil
        }
    }

    /// The strings of a TXT record, as many as are looked at.
    static func strings(_ list: UnsafeMutablePointer<AvahiStringList>?) -> [[UInt8]] {
        var strings: [[UInt8]] = []
        var total = 0
        var next = list
        while let entry = next, total <= DiscoveryLimits.textBytesMax {
            let size = avahi_string_list_get_size(entry)
            strings.append(Array(UnsafeBufferPointer(start: avahi_string_list_get_text(entry), count: size)))
            total += size + 1
            next = avahi_string_list_get_next(entry)
        }
        return strings
    }
}

/// Numbers of DNS (RFC 1035 §3.2, RFC 3596 §2.1).
private enum RecordType {
    static let internet: UInt16 = 1
    static let a: UInt16 = 1
    static let aaaa: UInt16 = 28
}

private func sessionServiceSeen(
    _ browser: OpaquePointer?, _ interface: AvahiIfIndex, _ protocolNumber: AvahiProtocol, _ event: AvahiBrowserEvent,
    _ name: UnsafePointer<CChar>?, _ type: UnsafePointer<CChar>?, _ domain: UnsafePointer<CChar>?,
    _ flags: AvahiLookupResultFlags, _ context: UnsafeMutableRawPointer?
) {
    Unmanaged<AvahiSession>.fromOpaque(context!).takeUnretainedValue()
        .serviceSeen(event, interface: interface, family: AvahiSession.family(protocolNumber), name: name)
}

private func lookupResolved(
    _ resolver: OpaquePointer?, _ interface: AvahiIfIndex, _ protocolNumber: AvahiProtocol,
    _ event: AvahiResolverEvent, _ name: UnsafePointer<CChar>?, _ type: UnsafePointer<CChar>?,
    _ domain: UnsafePointer<CChar>?, _ hostName: UnsafePointer<CChar>?, _ address: UnsafePointer<AvahiAddress>?,
    _ port: UInt16, _ text: UnsafeMutablePointer<AvahiStringList>?, _ flags: AvahiLookupResultFlags,
    _ context: UnsafeMutableRawPointer?
) {
    let lookup = Unmanaged<Lookup>.fromOpaque(context!).takeUnretainedValue()
    guard event == AVAHI_RESOLVER_FOUND, let hostName else { return lookup.session.retryLater(lookup) }
    lookup.session.resolved(
        lookup, hostName: Array(String(cString: hostName).utf8), port: port, text: AvahiSession.strings(text))
}

private func lookupAddressSeen(
    _ browser: OpaquePointer?, _ interface: AvahiIfIndex, _ protocolNumber: AvahiProtocol, _ event: AvahiBrowserEvent,
    _ name: UnsafePointer<CChar>?, _ recordClass: UInt16, _ type: UInt16, _ data: UnsafeRawPointer?, _ size: Int,
    _ flags: AvahiLookupResultFlags, _ context: UnsafeMutableRawPointer?
) {
    let lookup = Unmanaged<Lookup>.fromOpaque(context!).takeUnretainedValue()
    lookup.session.addressSeen(
        lookup, event, recordData: data.map { Array(UnsafeRawBufferPointer(start: $0, count: size)) } ?? [])
}
