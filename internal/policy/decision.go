// SPDX-License-Identifier: Apache-2.0

package policy

import "evenkeel.dev/evenkeel/internal/prose"

// Engine is what evaluates rules. Every engine gives the same decisions.
type Engine string

// The engines.
const (
	// Topdown is OPA's own, which interprets the rules.
	Topdown Engine = "topdown"
	// CompiledEngine runs rules as Go closures, and asks Topdown again wherever something goes
	// wrong, and for policies that need it.
	CompiledEngine Engine = "compiled"
)

// Reasons for which topdown evaluates rules although the compiled engine is in use.
const (
	// ReasonNotCompilable: the compiled engine can't take the policy.
	ReasonNotCompilable = "NotCompilable"
	// ReasonEngineStopped: this evaluation took more than the compiled engine is given.
	ReasonEngineStopped = "EngineStopped"
	// ReasonEvaluationFailed: this evaluation failed, and topdown reports of what.
	ReasonEvaluationFailed = "EvaluationFailed"
)

// Decision is what one policy says of one request.
type Decision struct {
	// Policy is the policy's name.
	Policy string
	// Revision is the revision that judged.
	Revision string
	// Engine is what evaluated the rules; empty when nothing could be evaluated.
	Engine Engine
	// WhyTopdown says why topdown judged although the compiled engine is in use: one of the
	// reasons above; empty when it didn't.
	WhyTopdown string
	// Violations come from deny and violation, sorted; they follow the policy's
	// enforcement action.
	Violations []Violation
	// Warnings come from warn, sorted; they only ever warn.
	Warnings []Violation
	// Actions come from remediation, sorted. They are the policy's proposal;
	// nothing is proved of them yet.
	Actions []Action
	// Err is set when the policy couldn't be evaluated to its end: a run-time
	// error, the time limit, a malformed result. It is never a pass. Violations and
	// Warnings hold what was found all the same: that stands, but there may be
	// more. Actions is empty.
	Err error
	// Trace is how the engine came to it, for people; empty where that wasn't asked for.
	Trace string
	// FixErr says why Actions is empty where remediation failed; the verdict stands.
	FixErr error
}

// Clean says that the policy was evaluated and found no violation.
func (d *Decision) Clean() bool { return d.Err == nil && len(d.Violations) == 0 }

// Violation is one breach of a rule.
type Violation struct {
	// Message is for people.
	Message string `json:"msg"`
	// Path is a JSON Pointer into the judged object, or empty.
	Path string `json:"path,omitempty"`
	// Details is any JSON value that the rule adds, or nil.
	Details any `json:"details,omitempty"`
}

// Key identifies the same violation before and after a fix: its message and path.
func (v Violation) Key() string { return v.Path + "\x00" + v.Message }

// Text is the violation on one line for people: its path, if it has one, and its
// message.
func (v Violation) Text() string {
	if v.Path == "" {
		return prose.OneLine(v.Message)
	}
	return prose.OneLine(v.Path + ": " + v.Message)
}

// NewSince returns the violations of now that before doesn't have, in order. It
// takes one for the same whatever else changed around it, as is right for a fix,
// whose changes are known. For what anybody may have changed see Compare.
func NewSince(before, now []Violation) []Violation {
	seen := make(map[string]bool, len(before))
	for _, v := range before {
		seen[v.Key()] = true
	}
	var out []Violation
	for _, v := range now {
		if !seen[v.Key()] {
			out = append(out, v)
		}
	}
	return out
}

// ActionType is a verb, as Rego spells it.
type ActionType string

// The verbs.
const (
	// ActionPatch changes fields by a JSON Patch.
	ActionPatch ActionType = "patch"
	// ActionCreate makes another object.
	ActionCreate ActionType = "create"
	// ActionDelete deletes the judged object.
	ActionDelete ActionType = "delete"
	// ActionEvict evicts the judged Pod by the Eviction API.
	ActionEvict ActionType = "evict"
	// ActionRestart restarts a workload's Pods, as kubectl rollout restart does.
	ActionRestart ActionType = "restart"
	// ActionScale sets a workload's number of replicas.
	ActionScale ActionType = "scale"
)

// StatusSubresource is the one subresource that a patch may name.
const StatusSubresource = "status"

// Action is one step that a rule proposes to fix an object.
type Action struct {
	Type ActionType `json:"action"`
	// Ops is the JSON Patch of a patch action, with paths into the judged object.
	Ops []PatchOp `json:"ops,omitempty"`
	// Subresource is where the patch is sent: empty for the object itself, or "status".
	Subresource string `json:"subresource,omitempty"`
	// Object is the whole manifest of a create action.
	Object map[string]any `json:"object,omitempty"`
	// Replicas is the number of a scale action.
	Replicas int64 `json:"replicas,omitempty"`
}

// PatchOp is one operation of a JSON Patch (RFC 6902).
type PatchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from,omitempty"`
	Value any    `json:"value,omitempty"`
	// HasValue tells an absent value from null.
	HasValue bool `json:"-"`
}
