// SPDX-License-Identifier: Apache-2.0

// Package prose makes text for people fit: what is too long for a field, a header, an
// event or a line is cut between characters, and never longer than its limit; nouns agree
// with their number. It never decides what is said. Start reading at Shorten.
package prose
