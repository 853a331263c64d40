// SPDX-License-Identifier: Apache-2.0

// Package git reads Git repositories: it finds the commit that a branch, a tag, a
// range of versions or a hash stands for, fetches it without its history to disk,
// checks its signature, and gives its files as a file system whose content is read
// only when it is asked for.
//
// It must never show a credential to another host or in an error, never trust a
// host that nobody vouched for, and never hold a repository in memory.
//
// Start at Fetcher.Fetch.
package git
