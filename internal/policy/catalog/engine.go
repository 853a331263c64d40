// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/engines"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// tracedLimit is how long one policy may take for one object while topdown is traced, which takes many times as long.
const tracedLimit = 10 * time.Second

// Traced is the same catalog with its policies left to topdown, whose decisions say how it came to them.
func (s *Snapshot) Traced() *Snapshot {
	own := *s
	own.limit = max(own.limit, tracedLimit)
	own.entries = make(map[string]*entry, len(s.entries))
	for name, e := range s.entries {
		traced := *e
		if e.compiled != nil {
			traced.compiled = e.compiled.Traced()
		}
		own.entries[name] = &traced
	}
	return &own
}

// byEngine is the policy as it is judged now: one of which the engines gave different verdicts
// is topdown's.
func byEngine(compared *engines.Comparer, c *rego.Compiled) *rego.Compiled {
	if compared.Disputed(c) {
		return c.Disputed()
	}
	return c
}

// engineOf is what evaluates the rules of a policy, for its status.
func engineOf(compared *engines.Comparer, c *rego.Compiled) *v1alpha1.PolicyEngine {
	engine, reason, message := byEngine(compared, c).Engine()
	return &v1alpha1.PolicyEngine{Name: string(engine), Reason: reason, Message: message}
}
