// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// DigestPrefix begins every digest of what is approved.
const DigestPrefix = "sha256:"

// Change is what a plan that awaits its approval would do to one target, as the target's
// record holds it in TargetRecord.proposal until the target is settled.
type Change struct {
	// Digest is of all that would be written, with the values before it; empty when nothing would be.
	Digest string
	// Alike is equal for changes that people are shown as one; empty where it isn't known.
	Alike string
	// Text tells the change to people; empty where it isn't told here.
	Text string
	// SameAs says that the text is that of an earlier target of the same slice, by its
	// number there from 1; 0 for none.
	SameAs int
	// Why says why nothing would be written.
	Why string
}

const (
	changeLine   = "change " + DigestPrefix
	noChangeLine = "no change: "
	alikeTo      = " like "
	sameAs       = " as target "
)

// String is the change as a record holds it.
func (c Change) String() string {
	if c.Digest == "" {
		return noChangeLine + c.Why
	}
	head := "change " + c.Digest
	if c.Alike != "" {
		head += alikeTo + c.Alike
	}
	switch {
	case c.SameAs > 0:
		return head + sameAs + strconv.Itoa(c.SameAs)
	case c.Text == "":
		return head
	}
	return head + "\n" + c.Text
}

// ParseChange reads a record's proposal; false for one that isn't of a plan that is
// approved, but a diff for the object's owner, or none.
func ParseChange(proposal string) (Change, bool) {
	if why, is := strings.CutPrefix(proposal, noChangeLine); is {
		return Change{Why: why}, true
	}
	if !strings.HasPrefix(proposal, changeLine) {
		return Change{}, false
	}
	head, text, _ := strings.Cut(proposal, "\n")
	digests, number, _ := strings.Cut(strings.TrimPrefix(head, "change "), sameAs)
	digest, alike, _ := strings.Cut(digests, alikeTo)
	same, _ := strconv.Atoi(number) // 0 for none
	return Change{Digest: digest, Alike: alike, Text: text, SameAs: max(same, 0)}, true
}

// Proposal is what a plan that awaits its approval would do, as far as it is known.
type Proposal struct {
	// Digest is of all of it, as it was read: the plan, each target, and the change of each.
	// Whoever approves it approves that, and nothing else. Empty while it isn't complete.
	Digest string `json:"digest,omitempty"`
	// Known is how many targets are settled or have a change that is known, of All.
	Known int `json:"known"`
	All   int `json:"all"`
	// Groups are the targets by what they have in common, in order of their first.
	Groups []Group `json:"groups"`
	// partial says that not all of the slices were there.
	partial bool
}

// Complete says whether what would be done to each target is known.
func (p *Proposal) Complete() bool { return !p.partial && p.Known == p.All }

// Group is the targets of one kind for which the same is told.
type Group struct {
	Kind string `json:"kind"`
	// Change is told to people; Why, where nothing would be written, says why. Both are
	// empty where the slice had no room to tell.
	Change string `json:"change,omitempty"`
	Why    string `json:"why,omitempty"`
	// Targets are in order of the rollout.
	Targets []v1alpha1.ObjectReference `json:"targets"`
}

// ProposalOf reads what a plan would do from all of its slices, in order.
func ProposalOf(rem *v1alpha1.Remediation, slices []*v1alpha1.RemediationSlice) *Proposal {
	out := &Proposal{Groups: []Group{}}
	digest, places, read := newDigest(rem), map[groupKey]int{}, 0
	for _, slice := range slices {
		for i, target := range slice.Targets {
			read++
			rec := v1alpha1.TargetRecord{State: v1alpha1.TargetPending}
			if i < len(slice.Records) {
				rec = slice.Records[i]
			}
			change, told := ParseChange(rec.Proposal)
			digest.add(target, rec, told)
			if target.SkipReason != "" {
				continue
			}
			out.All++
			if told || rec.State != v1alpha1.TargetPending {
				out.Known++
			}
			if told {
				out.add(places, target.Object, groupOf(target.Object.Kind, change, slice))
			}
		}
	}
	if out.partial = read != int(rem.Spec.Plan.Targets); out.Complete() {
		out.Digest = digest.sum()
	}
	return out
}

// add puts a target into its group.
func (p *Proposal) add(places map[groupKey]int, target v1alpha1.ObjectReference, of groupKey) {
	at, known := places[of]
	if !known {
		at = len(p.Groups)
		places[of] = at
		p.Groups = append(p.Groups, Group{Kind: of.kind, Change: of.change, Why: of.why})
	}
	p.Groups[at].Targets = append(p.Groups[at].Targets, target)
}

// groupKey is what the targets of a group have in common. Of equal texts not all need be of equal changes: values
// may be left out of them, or be cut.
type groupKey struct{ kind, digest, change, why string }

// TextOf tells what a proposal in a slice says, to people: a diff for an owner, or the change
// that is approved.
func TextOf(slice *v1alpha1.RemediationSlice, proposal string) string {
	change, told := ParseChange(proposal)
	if !told {
		return proposal
	}
	if change.Digest == "" {
		return noChangeLine + change.Why
	}
	return groupOf("", change, slice).change
}

func groupOf(kind string, c Change, slice *v1alpha1.RemediationSlice) groupKey {
	if c.Digest == "" {
		return groupKey{kind: kind, why: c.Why}
	}
	if n := c.SameAs; n > 0 && n <= len(slice.Records) {
		if first, told := ParseChange(slice.Records[n-1].Proposal); told {
			return groupKey{kind: kind, digest: cmp.Or(c.Alike, c.Digest), change: first.Text}
		}
	}
	return groupKey{kind: kind, digest: cmp.Or(c.Alike, c.Digest), change: c.Text}
}

// digest adds up all that is approved.
type digest struct {
	encoder *json.Encoder
	sum     func() string
}

func newDigest(rem *v1alpha1.Remediation) digest {
	hash := sha256.New()
	d := digest{encoder: json.NewEncoder(hash),
		sum: func() string { return DigestPrefix + hex.EncodeToString(hash.Sum(nil)) }}
	d.encode(string(rem.UID), rem.Spec.Plan.Hash)
	return d
}

// add adds a target with what is told of it. What an owner was told isn't approved.
func (d digest) add(t v1alpha1.Target, rec v1alpha1.TargetRecord, told bool) {
	proposal := ""
	if told {
		proposal = rec.Proposal
	}
	o := t.Object
	d.encode(o.APIVersion, o.Kind, o.Namespace, o.Name, o.UID, t.SkipReason, proposal)
}

// encode adds texts so that none can be taken for a part of another.
func (d digest) encode(texts ...string) {
	// A hash takes everything, and texts can always be marshalled.
	_ = d.encoder.Encode(texts)
}

// Short is a digest as far as people compare it.
func Short(digest string) string { return fmt.Sprintf("%.*s", len(DigestPrefix)+12, digest) }
