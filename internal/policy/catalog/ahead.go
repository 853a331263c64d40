// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"maps"
	"slices"
	"time"

	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// longestAhead is how long a revision may wait for what it refers to, and those that follow it meanwhile: from then on
// the newest one counts as not evaluated until that is known.
const longestAhead = time.Minute

// Ahead is a definition that compiles and isn't in force yet, since what its rules look up is still being listed here.
type Ahead struct {
	// Generation is the definition's.
	Generation int64
	// Awaits are the kinds that are being listed.
	Awaits []inventory.Unknown
}

// latest is the entry of the newest definition, whether that is in force or waits.
func (e *entry) latest() *entry {
	if e.ahead != nil {
		return e.ahead
	}
	return e
}

// waiting is the next entry, or the old one with the next ahead of it, where the next one's rules couldn't look up what
// they refer to yet, and so would refuse what the old one's judge.
func (c *Catalog) waiting(old, next *entry) *entry {
	if old == nil || old.compiled == nil || next.problem != nil || old.revision() == next.revision() {
		return next
	}
	held := *old
	held.ahead, held.problem = next, nil
	if old.ahead == nil {
		held.since = c.clock.Now()
	}
	if !c.waits(&held) {
		return next
	}
	return &held
}

func (c *Catalog) waits(e *entry) bool {
	return c.clock.Since(e.since) <= longestAhead && len(c.awaited(e.ahead.compiled)) > 0
}

// awaited are the kinds whose first list neither ended nor failed yet, and hasn't taken long.
func (c *Catalog) awaited(compiled *rego.Compiled) []inventory.Unknown {
	return slices.DeleteFunc(c.inventory.Unknown(compiled.References()), func(u inventory.Unknown) bool {
		return !u.Pending
	})
}

// Advance puts those revisions in force that have waited for what they refer to, and needn't any more. It is to be
// called when what is known has changed, and now and then.
func (c *Catalog) Advance() {
	if !c.snapshot.Load().anyAhead() {
		return // who compiles a policy isn't waited for
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.snapshot.Load()
	entries := maps.Clone(before.entries)
	for name, e := range before.entries {
		if e.ahead != nil && !c.waits(e) {
			entries[name] = e.ahead
		}
	}
	if !maps.Equal(entries, before.entries) {
		// What is ahead was found valid when it was set.
		_ = c.swap(entries, before.templates)
	}
}

func (s *Snapshot) anyAhead() bool {
	for _, e := range s.entries {
		if e.ahead != nil {
			return true
		}
	}
	return false
}

// aheadOf says what is ahead of a policy's revision in force; nil for nothing.
func (c *Catalog) aheadOf(e *entry) *Ahead {
	if e.ahead == nil {
		return nil
	}
	return &Ahead{Generation: e.ahead.newest.Generation, Awaits: c.awaited(e.ahead.compiled)}
}
