// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"io/fs"
	"path"

	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/directory"
)

// ExamplesFile is the name of the examples in a policy's directory.
const ExamplesFile = "examples.yaml"

// Example is one object with what a policy must say of it. examples.yaml is a list
// of them, with these keys; an unknown key is an error.
type Example struct {
	// Name says what the example shows. Required, and unique in its file.
	Name string `json:"name"`
	// Object is the full manifest that is judged. Required but on DELETE.
	Object map[string]any `json:"object"`
	// OldObject is the manifest before an UPDATE or DELETE.
	OldObject map[string]any `json:"oldObject"`
	// Operation is CREATE, UPDATE, DELETE or CONNECT. Default: CREATE, or that of the
	// subresource.
	Operation policy.Operation `json:"operation"`
	// Subresource says that the object is sent to a subresource, and of what.
	Subresource *Subresource `json:"subresource"`
	// NamespaceObject is the Namespace that the object lives in. Default: one
	// that has the object's namespace as its name and nothing else.
	NamespaceObject map[string]any `json:"namespaceObject"`
	// Inventory are the other objects that there are, as full manifests, for policies with match.references.
	Inventory []map[string]any `json:"inventory"`
	// UserInfo is who asks. Default: nobody.
	UserInfo UserInfo `json:"userInfo"`
	// Parameters take the place of the policy's own, as a whole.
	Parameters any `json:"parameters"`
	// Expect is the verdict.
	Expect Expectation `json:"expect"`
	// Fixed says what the policy's fix must come to. false, the default: there
	// must be no fix. true: the fix must resolve the violation. A manifest: the fix must resolve the violation,
	// and the object must then equal it.
	Fixed any `json:"fixed"`

	// line is where it stands in its file.
	line int
}

// Subresource is what a request is on that isn't on an object itself. What is sent
// names neither, so they stand here.
type Subresource struct {
	// Resource is the plural name of the kind and the subresource: pods/exec.
	Resource string `json:"resource"`
	// Namespace and Name name the object that it is a part of.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// UserInfo is who asks, as in an AdmissionRequest.
type UserInfo struct {
	Username string   `json:"username"`
	Groups   []string `json:"groups"`
}

func (s *Subresource) known() (policy.Subresource, bool) {
	for _, known := range policy.Subresources() {
		if known.String() == s.Resource {
			return known, true
		}
	}
	return policy.Subresource{}, false
}

// Expectation is the verdict that an example asks for.
type Expectation struct {
	// Violations are parts of the messages of deny and violation: each must be
	// in a message of its own, and there must be as many messages.
	Violations []string `json:"violations"`
	// Warnings are the same for warn.
	Warnings []string `json:"warnings"`
	// Matched false says that the policy must not concern the object at all.
	// Default: true.
	Matched *bool `json:"matched"`
}

// readExamples reads a policy directory's examples, strictly. Its error is a *directory.Error.
func readExamples(fsys fs.FS, dir string) ([]Example, error) {
	file := path.Join(dir, ExamplesFile)
	wrong := func(line int, message string) error {
		return &directory.Error{Problems: []directory.Problem{{File: file, Line: line, Message: message}}}
	}
	text, err := directory.ReadFile(fsys, file)
	if err != nil {
		return nil, wrong(0, fmt.Sprintf("the policy has no examples: write %s with an object that passes and one "+
			"that violates: %v", ExamplesFile, err))
	}
	content, problem := manifest.Value(text)
	if problem != nil {
		return nil, wrong(problem.Line, problem.Message)
	}
	var examples []Example
	lines := manifest.LinesOf(text)
	if misfits := directory.Decode(content, &examples); len(misfits) > 0 {
		found := &directory.Error{}
		for _, misfit := range misfits {
			found.Problems = append(found.Problems,
				directory.Problem{File: file, Line: lines(misfit.Pointer()), Message: misfit.String()})
		}
		return nil, found
	}
	for i := range examples {
		examples[i].line = lines(fmt.Sprintf("/%d", i))
	}
	if line, message := checkExamples(examples); message != "" {
		return nil, wrong(line, message)
	}
	return examples, nil
}

func checkExamples(examples []Example) (line int, message string) {
	var clean, violating bool
	seen := map[string]bool{}
	for i := range examples {
		example := &examples[i]
		if message := example.problem(); message != "" {
			return example.line, message
		}
		if seen[example.Name] {
			return example.line, fmt.Sprintf("two examples are named %q: rename one", example.Name)
		}
		seen[example.Name] = true
		if len(example.Expect.Violations)+len(example.Expect.Warnings) > 0 {
			violating = true
		} else if example.matched() {
			clean = true
		}
	}
	if !clean || !violating {
		return 0, "one example that passes and one that violates are the least: add what is missing"
	}
	return 0, ""
}

func (e *Example) problem() string {
	switch {
	case e.Name == "":
		return "the example has no name: say what it shows"
	case e.request(nil).Judged() == nil:
		return fmt.Sprintf("example %q has no object: give the full manifest", e.Name)
	case !e.validSubresource():
		return fmt.Sprintf("example %q: %q is no subresource that policies judge: write for example pods/exec", e.Name,
			e.Subresource.Resource)
	case !e.validFixed():
		return fmt.Sprintf("example %q: fixed must be true, false or a manifest", e.Name)
	}
	return ""
}

func (e *Example) validSubresource() bool {
	if e.Subresource == nil {
		return true
	}
	_, ok := e.Subresource.known()
	return ok
}

func (e *Example) validFixed() bool {
	switch e.Fixed.(type) {
	case nil, bool, map[string]any:
		return true
	default:
		return false
	}
}

func (e *Example) matched() bool { return e.Expect.Matched == nil || *e.Expect.Matched }

// wantsFix says whether the policy must offer a fix, and what it must come to; nil
// when any fix will do.
func (e *Example) wantsFix() (bool, map[string]any) {
	if object, ok := e.Fixed.(map[string]any); ok {
		return true, object
	}
	wanted, _ := e.Fixed.(bool)
	return wanted, nil
}

// request asks for the verdict on object, or on the example's own when it is nil.
func (e *Example) request(object map[string]any) *policy.Request {
	if object == nil {
		object = e.Object
	}
	judged := object
	if judged == nil || e.Operation == policy.Delete {
		judged = e.OldObject
	}
	meta, _ := judged["metadata"].(map[string]any)
	namespace, _ := meta["namespace"].(string)
	if e.Subresource != nil {
		namespace = e.Subresource.Namespace
	}
	namespaceObject := e.NamespaceObject
	if namespaceObject == nil && namespace != "" {
		namespaceObject = map[string]any{
			"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}}
	}
	r := policy.NewAudit(judged, namespaceObject, Now())
	r.Audit = false
	r.UserInfo = policy.UserInfo{Username: e.UserInfo.Username, Groups: e.UserInfo.Groups}
	r.Object, r.OldObject = object, e.OldObject
	if s := e.Subresource; s != nil {
		known, _ := s.known()
		r.Resource, r.SubResource, r.Operation = known.Resource, known.Name, known.Operation
		r.Namespace, r.Name = s.Namespace, s.Name
	}
	if e.Operation != "" {
		r.Operation = e.Operation
	}
	return r
}
