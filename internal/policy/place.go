// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// place is where a violation is, in terms that outlast a reordering of lists.
type place struct {
	// path is the JSON Pointer with names instead of positions.
	path string
	// subject is a digest of what violates there.
	subject string
}

// places finds places in one object. What it found it keeps: many violations lead
// to the same place. It must not be used by several goroutines at once.
type places struct {
	object map[string]any
	found  map[string]place
	pods   map[string]*podCode
}

func newPlaces(object map[string]any) *places {
	return &places{object: object, found: map[string]place{}, pods: map[string]*podCode{}}
}

func (p *places) of(pointer string) place {
	if known, ok := p.found[pointer]; ok {
		return known
	}
	found := p.find(pointer)
	p.found[pointer] = found
	return found
}

func (p *places) find(pointer string) place {
	whole, pointed := wholeOf(p.object, pointer)
	if pointed {
		return place{path: pointer, subject: digest(whole)}
	}
	w := walk{value: p.object, exists: true}
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		w.step(strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~"))
	}
	if w.leadsNowhere(p.object) {
		return place{path: pointer, subject: digest(whole)}
	}
	return place{path: w.path.String(), subject: p.subject(&w)}
}

func (p *places) subject(w *walk) string {
	own := digest(w.reached())
	if w.pod == nil {
		return own
	}
	code := p.pods[w.podAt]
	if code == nil {
		code = codeOf(w.pod)
		p.pods[w.podAt] = code
	}
	switch {
	case w.container != nil:
		return own + digest(runs(w.container))
	case w.volume != "":
		return own + code.mounting[w.volume]
	default:
		return own + code.all
	}
}

// walk follows a JSON Pointer through an object.
type walk struct {
	path   strings.Builder
	value  any
	exists bool
	// missing is how many steps lead to nothing.
	missing int
	// key is the last step by name, and list the last list that was entered.
	key     string
	element any
	// inMetadata says that metadata has been entered.
	inMetadata bool
	// pod is the spec of a Pod that has been entered, podAt its path; container and
	// volume are what of it has been entered.
	pod       map[string]any
	podAt     string
	container map[string]any
	volume    string
}

func (w *walk) step(token string) {
	defer func() {
		if !w.exists {
			w.missing++
		}
	}()
	if !w.exists {
		w.path.WriteString("/" + token)
		return
	}
	switch at := w.value.(type) {
	case map[string]any:
		if slices.ContainsFunc(containerLists(), func(list string) bool { return at[list] != nil }) {
			w.pod, w.podAt = at, w.path.String()
		}
		w.value, w.exists = at[token]
		w.key = token
		w.inMetadata = w.inMetadata || token == "metadata"
		w.path.WriteString("/" + token)
	case []any:
		w.enter(at, token)
	default:
		w.exists = false
		w.path.WriteString("/" + token)
	}
}

func (w *walk) enter(list []any, token string) {
	i, err := strconv.Atoi(token)
	if err != nil || i < 0 || i >= len(list) {
		w.exists = false
		w.path.WriteString("/" + token)
		return
	}
	w.value, w.element = list[i], list[i]
	fields, _ := list[i].(map[string]any)
	name, named := fields["name"].(string)
	switch {
	case w.pod == nil || w.container != nil || w.volume != "":
	case slices.Contains(containerLists(), w.key):
		w.container = fields
	case w.key == "volumes" && named:
		w.volume = name
	}
	if named {
		w.path.WriteString("/name=" + name)
	} else {
		w.path.WriteString("/=" + digest(list[i]))
	}
}

// leadsNowhere says that the walk tells nothing of what violates. That a field is
// missing from what is there does tell; but in a workload, whose Pods' fields are
// elsewhere, a rule may have meant one of theirs.
func (w *walk) leadsNowhere(object map[string]any) bool {
	if w.exists || w.pod != nil || w.inMetadata || w.element != nil {
		return false
	}
	_, holdsTemplate := TemplatePath(kindOf(object).GroupKind())
	return holdsTemplate || w.missing > 1
}

// reached is what a walk ended at: the element of a list that it is in, or the
// value; nothing where there is none.
func (w *walk) reached() any {
	switch {
	case w.inMetadata && (w.key == "metadata" || w.key == "labels" || w.key == "annotations"):
		return "metadata"
	case w.element != nil && w.container == nil:
		return []any{w.element}
	case !w.exists:
		return []any{}
	default:
		return []any{withoutResources(w.value)}
	}
}

// wholeOf is all of an object that may violate. It is false when the pointer says
// more closely where.
func wholeOf(object map[string]any, pointer string) (whole any, pointed bool) {
	kind := kindOf(object).GroupKind()
	at, holdsTemplate := TemplatePath(kind)
	if kind != PodKind() && !holdsTemplate {
		rest := maps.Clone(object)
		delete(rest, "metadata")
		delete(rest, "status")
		return rest, pointer == ""
	}
	at += "/spec"
	return withoutResources(FieldAt(object, at)), pointer == "" || strings.HasPrefix(at+"/", pointer+"/")
}

func digest(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		// Not JSON, so nothing is known to be like it.
		text = []byte(err.Error())
	}
	sum := sha256.Sum256(text)
	return string(sum[:])
}
