// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// watch notes what fills the table from now on.
func (f *follower) watch(r interface{ LastSyncResourceVersion() string }) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen, f.watched = f.reached(), r
}

// reached is the resourceVersion up to which everything is in the table; empty for none.
func (f *follower) reached() string {
	if f.watched == nil {
		return ""
	}
	return cmp.Or(f.watched.LastSyncResourceVersion(), f.seen)
}

// at is how far what fills the table has come.
func (f *follower) at() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reached()
}

// shows says with an error that the table may lack what was written up to a resourceVersion.
func (f *follower) shows(resourceVersion string) error {
	reached := f.at()
	if reached == "" {
		return errNotListed
	}
	order, err := resourceversion.CompareResourceVersion(reached, resourceVersion)
	switch {
	case err != nil:
		return fmt.Errorf("whether its watch has shown the newest change can't be determined: %w", err)
	case order < 0:
		return errBehind
	}
	return nil
}
