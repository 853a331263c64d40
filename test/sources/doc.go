// SPDX-License-Identifier: Apache-2.0

// Package sources proves that repositories are read over SSH, against OpenSSH's own
// server. It stands apart from the tests by https, beside the code, because that
// server has to be fetched first.
package sources
