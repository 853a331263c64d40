// SPDX-License-Identifier: Apache-2.0

package reviews

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// Request is what is told of a review.
type Request struct {
	Operation, SubResource, Namespace, Name string

	Kind     struct{ Kind string }
	Resource struct{ Resource string }
}

// Read reads what was asked in a file of reviews, one a line.
func Read(file string) (asked []Request, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(text) {
		var review struct{ Request Request }
		if err := json.Unmarshal(line, &review); err != nil {
			return nil, fmt.Errorf("review %d: %w", len(asked), err)
		}
		asked = append(asked, review.Request)
	}
	return asked, nil
}

func (r Request) String() string {
	return fmt.Sprintf("%s of %s %s/%s", r.what(), r.Kind.Kind, r.Namespace, r.Name)
}

func (r Request) what() string {
	if r.SubResource == "" {
		return r.Operation
	}
	return r.Operation + " " + r.Resource.Resource + "/" + r.SubResource
}

// leftOut says that Evenkeel never judges it, other than Gatekeeper: docs/migrate-from-gatekeeper.md.
func (r Request) leftOut() bool { return r.SubResource == "status" }
