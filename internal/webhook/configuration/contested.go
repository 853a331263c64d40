// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// contested is what the writer remembers of one configuration: who else writes it.
type contested struct {
	pace pace
	// written identifies what was wanted when it was written last, by this process.
	written string
	// told are the additions that were told last.
	told string
}

// wait is how long to leave a configuration as others have made it. What is newly
// wanted is written at once: only the same thing again has to wait.
func (c *contested) wait(wanted string, now time.Time) time.Duration {
	if c.written != wanted {
		return 0
	}
	return c.pace.Wait(now)
}

// wrote notes a write, and says whether it restored what was wanted before.
func (c *contested) wrote(wanted string, now time.Time) (restored bool) {
	if restored = c.written == wanted; restored {
		c.pace.Restored(now)
	}
	c.written = wanted
	return restored
}

// identity tells what is wanted from anything else.
func identity(wanted any) (string, error) {
	text, err := json.Marshal(wanted)
	if err != nil {
		return "", fmt.Errorf("encoding the webhook configuration: %w", err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(text)), nil
}

// tell says once what others have added to a configuration.
func (w *Writer) tell(config client.Object, sort string, additions []narrowed) {
	texts := make([]string, 0, len(additions))
	for _, n := range additions {
		texts = append(texts, n.String())
	}
	text := strings.Join(texts, "; ")
	of := w.contest(sort)
	if of.told == text {
		return
	}
	of.told = text
	if text == "" {
		w.o.Log.Info("Nobody narrows the webhook configuration any more", "sort", sort)
		return
	}
	w.o.Log.Info("Somebody has narrowed the webhook configuration, so some requests aren't judged; it is left so",
		"sort",
		sort, "added", text)
	w.event(config, v1alpha1.EventWebhookNarrowed, fmt.Sprintf("Requests that these leave out aren't judged: %s", text))
}

func (w *Writer) event(config runtime.Object, reason, note string) {
	if w.o.Events != nil {
		w.o.Events.Eventf(config, nil, corev1.EventTypeWarning, reason, "Reconcile", "%s", note)
	}
}

func (w *Writer) contest(sort string) *contested {
	if w.contests == nil {
		w.contests = map[string]*contested{}
	}
	if w.contests[sort] == nil {
		w.contests[sort] = &contested{}
	}
	return w.contests[sort]
}
