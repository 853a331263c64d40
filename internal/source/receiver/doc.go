// SPDX-License-Identifier: Apache-2.0

// Package receiver takes the messages of a push from Git hosts, on every replica. It only
// asks for the repository to be read, by an annotation of the source: it must never take
// anything else from a message, nor tell whoever doesn't know the token whether there is
// such a source. Start reading at Receiver.
package receiver
