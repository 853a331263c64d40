// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestTheRecordedDemoCanBeShown: a picture that isn't well-formed is shown as nothing at all, and a large one slowly.
// `make demo RECORD=docs/demo.svg` writes it.
func TestTheRecordedDemoCanBeShown(t *testing.T) {
	picture := read(t, "docs/demo.svg")
	if limit := 100 << 10; len(picture) > limit {
		t.Errorf("docs/demo.svg takes %d bytes, at most %d are wanted", len(picture), limit)
	}
	decoder, text := xml.NewDecoder(strings.NewReader(picture)), ""
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("docs/demo.svg isn't well-formed: %v", err)
		}
		if chars, ok := token.(xml.CharData); ok {
			text += string(chars)
		}
	}
	for _, want := range []string{"Step 1 of 7", "claims hold"} {
		if !strings.Contains(text, want) {
			t.Errorf("docs/demo.svg lacks %q: it was recorded of a demo that didn't end", want)
		}
	}
}
