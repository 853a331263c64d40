// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheSchemaForEditorsHasTheKeysOfCustom(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "schemas", "metadata.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties struct {
			Custom struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	want := slices.Sorted(maps.Keys(keysOf(reflect.TypeFor[custom]())))
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(schema.Properties.Custom.Properties))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
