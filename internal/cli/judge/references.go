// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/scan/listing"
)

// seeingCluster has policies look other objects up in the cluster, as it is now.
func seeingCluster(ctx context.Context, connection *connect.Flags, snapshots ...*catalog.Snapshot) (
	[]*catalog.Snapshot, error) {
	references := map[string]inventory.Reference{}
	for _, s := range snapshots {
		for key, r := range s.References() {
			references[key] = r
		}
	}
	if len(references) == 0 {
		return snapshots, nil
	}
	objects, kinds, err := connection.Untyped()
	if err != nil {
		return nil, err
	}
	seen, err := (&listing.Walk{Client: objects, Discovery: kinds}).Referenced(ctx, references)
	if err != nil {
		return nil, command.Exit(command.ExitFailure, err)
	}
	out := make([]*catalog.Snapshot, len(snapshots))
	for i, s := range snapshots {
		out[i] = s.Seeing(seen)
	}
	return out, nil
}

// seeingSubjects has policies look other objects up among those that are judged, and says that there may be
// others. What they find is nil where they look nothing up.
func seeingSubjects(stderr io.Writer, snapshot *catalog.Snapshot, subjects []check.Subject) (
	*catalog.Snapshot, *inventory.Fixed) {
	var referring []string
	for _, p := range snapshot.Policies() {
		if len(snapshot.ReferencesOf(p.Name)) > 0 {
			referring = append(referring, p.Name)
		}
	}
	if len(referring) == 0 {
		return snapshot, nil
	}
	slices.Sort(referring)
	fmt.Fprintf(stderr, "note: other objects are referenced by %s: %s; only what is given here is found, and not what "+
		"lives in a cluster\n", prose.Count(len(referring), "policy"), strings.Join(referring, ", "))
	objects := make([]map[string]any, 0, len(subjects))
	for i := range subjects {
		objects = append(objects, subjects[i].LookedUp(subjects[i].Object)...)
	}
	found := inventory.NewFixed(objects, nil)
	return snapshot.Seeing(found), found
}
