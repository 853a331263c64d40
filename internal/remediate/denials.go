package remediate

import (
	"fmt"
)

// denials are the outcomes of the targets that admission denied in this pass.
func (p *pass) denials() []Outcome {
	var out []Outcome
	for _, i := range p.denied {
		ref := p.book.target(i).Object
		denied := Outcome{Type: OutcomeFailed, Count: 1, Message: p.book.record(i).Message,
			Key: fmt.Sprintf("%s/denied/%s", p.rem.UID, ref.UID)}
		if ref.Namespace != "" {
			denied.Namespaces = map[string]int32{ref.Namespace: 1}
		}
		out = append(out, denied)
	}
	return out
}
