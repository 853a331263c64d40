// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"fmt"

	"evenkeel.dev/evenkeel/internal/remediate/rollout"
)

// Denials are the outcomes of the targets that admission denied in this pass.
func (p *Pass) Denials() []rollout.Outcome {
	var out []rollout.Outcome
	for _, i := range p.Denied {
		ref := p.Records.Target(i).Object
		denied := rollout.Outcome{Type: rollout.OutcomeFailed, Count: 1, Message: p.Records.Record(i).Message,
			Key: fmt.Sprintf("%s/denied/%s", p.Remediation.UID, ref.UID)}
		if ref.Namespace != "" {
			denied.Namespaces = map[string]int32{ref.Namespace: 1}
		}
		out = append(out, denied)
	}
	return out
}
