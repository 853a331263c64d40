// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheDevContainerNeedsNoStepOfItsOwn: what it does after it was made is a target that anybody can make, and it is
// a plain image without a build or features, so that it is what its one line says.
func TestTheDevContainerNeedsNoStepOfItsOwn(t *testing.T) {
	var container map[string]any
	if err := json.Unmarshal([]byte(read(t, ".devcontainer/devcontainer.json")), &container); err != nil {
		t.Fatal(err)
	}
	command, _ := container["postCreateCommand"].(string)
	target, isMake := strings.CutPrefix(command, "make ")
	if !isMake || !strings.Contains(read(t, "Makefile"), "\n"+target+": ## ") {
		t.Errorf("after it was made it runs %q, which is no target of the Makefile", command)
	}
	for key := range container {
		if key == "build" || key == "features" || key == "dockerComposeFile" {
			t.Errorf("it has %q, which nobody can do without Docker", key)
		}
	}
}

// TestTheSampleOfOwnersNamesWhatThereIs: a path that is gone has no owner, and nobody notices.
func TestTheSampleOfOwnersNamesWhatThereIs(t *testing.T) {
	found := 0
	for line := range strings.Lines(read(t, ".github/CODEOWNERS.sample")) {
		path, _, _ := strings.Cut(line, " ")
		if !strings.HasPrefix(path, "/") {
			continue
		}
		found++
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			t.Errorf(".github/CODEOWNERS.sample names %s, which isn't there", path)
		}
	}
	if found == 0 {
		t.Error(".github/CODEOWNERS.sample names no path")
	}
}
