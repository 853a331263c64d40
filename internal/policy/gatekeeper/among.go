// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"strings"

	"evenkeel.dev/evenkeel/internal/manifest"
)

// suiteGroup is that of gator's suites, which enforce nothing.
const suiteGroup = "test.gatekeeper.sh"

// Among are the documents that are Gatekeeper's objects, suites of gator aside, with the CustomResourceDefinitions that
// constraints may mean; none where none is Gatekeeper's.
func Among(documents []manifest.Document) []manifest.Document {
	var among []manifest.Document
	theirs := false
	for i := range documents {
		group := groupOf(documents[i].Object)
		is := group != suiteGroup && strings.HasSuffix(group, ".gatekeeper.sh")
		if theirs = theirs || is; is || documents[i].Object["kind"] == "CustomResourceDefinition" {
			among = append(among, documents[i])
		}
	}
	if !theirs {
		return nil
	}
	return among
}
