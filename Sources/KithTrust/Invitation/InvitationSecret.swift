/// What an invitation code becomes before it is used: made once, since that takes a moment.
public struct InvitationSecret: Sendable {
    let scalar: SecretBytes
}
