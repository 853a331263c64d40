// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"maps"

	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/manifest/edit"
)

// unfilled takes the namespace out of a fixed object again that wasn't written, but filled in before it was judged.
func unfilled(document *manifest.Document, judged, fixed map[string]any) map[string]any {
	written, _ := document.Object["metadata"].(map[string]any)
	if _, named := written["namespace"]; named {
		return fixed
	}
	metadata, _ := fixed["metadata"].(map[string]any)
	filled, _ := judged["metadata"].(map[string]any)
	if metadata["namespace"] == nil || metadata["namespace"] != filled["namespace"] {
		return fixed
	}
	fixed, metadata = maps.Clone(fixed), maps.Clone(metadata)
	delete(metadata, "namespace")
	fixed["metadata"] = metadata
	if len(metadata) == 0 && written == nil {
		delete(fixed, "metadata")
	}
	return fixed
}

// asWritten leaves out what an item of a typed list has from its list.
func asWritten(document *manifest.Document, text []byte, object map[string]any) map[string]any {
	pointer := document.Place().Pointer
	if pointer == "" || edit.Holds(text, pointer+"/kind") {
		return object
	}
	object = maps.Clone(object)
	delete(object, "apiVersion")
	delete(object, "kind")
	return object
}
