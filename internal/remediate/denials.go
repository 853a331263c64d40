// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"fmt"

	"evenkeel.dev/evenkeel/internal/remediate/rollout"
)

// denials are the outcomes of the targets that admission denied in this pass.
func (p *pass) denials() []rollout.Outcome {
	var out []rollout.Outcome
	for _, i := range p.denied {
		ref := p.records.Target(i).Object
		denied := rollout.Outcome{Type: rollout.OutcomeFailed, Count: 1, Message: p.records.Record(i).Message,
			Key: fmt.Sprintf("%s/denied/%s", p.rem.UID, ref.UID)}
		if ref.Namespace != "" {
			denied.Namespaces = map[string]int32{ref.Namespace: 1}
		}
		out = append(out, denied)
	}
	return out
}
