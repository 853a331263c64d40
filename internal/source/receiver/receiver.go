// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/source/access"
)

// HookPath is where messages of a push are taken: HookPath/<namespace>/<name>.
const HookPath = "/hook"

// The bounds of the receiver, which anybody may call who reaches it.
const (
	// maxMessageBytes is more than hosts send of a push, but for those of very many
	// commits, and maxUnderway are the messages that are read at a time: together they
	// bound what is kept of messages by whoever sends them.
	maxMessageBytes = 2 << 20
	maxUnderway     = 16
	// everySecond and burst are the messages that are looked at, over all sources;
	// perSource are those that may ask for a look at one.
	everySecond, burst = 20, 40
	perSource          = 1
	// patience is how long a message may wait for its turn.
	patience = 3 * time.Second
)

// tokenKey is the key of the receiver's token in its Secret.
const tokenKey = "token"

// Results of messages, as the metric counts them.
const (
	resultAccepted = "Accepted"
	resultIgnored  = "Ignored"
	resultRefused  = "Refused"
	resultLimited  = "Limited"
	resultFailed   = "Failed"
)

// Receiver takes messages of a push, on every replica. It only asks for a look, by
// the source's annotation; the leader looks. So a message that is sent again does
// no harm, and one that is lost costs an interval.
type Receiver struct {
	options Options
	client  client.Client
	secrets access.Secrets
	allowed access.Namespaces
	metrics *metrics
	clock   clock.PassiveClock
	log     logr.Logger
	all     *rate.Limiter
	// underway has an entry for each message that is being read.
	underway chan struct{}

	mu   sync.Mutex
	each map[types.UID]*rate.Limiter
}

// answer is what a message is answered.
type answer struct {
	code         int
	result, text string
}

// ServeHTTP answers one message. Whoever doesn't know the token learns nothing: a
// source that isn't there, has no receiver, or another token answers the same.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	a := r.take(w, req)
	if a.result == resultLimited {
		w.Header().Set("Connection", "close") // else the rest of the message would be read before
	}
	r.metrics.received(a.result)
	http.Error(w, a.text, a.code)
}

func (r *Receiver) take(w http.ResponseWriter, req *http.Request) answer {
	key := types.NamespacedName{Namespace: req.PathValue("namespace"), Name: req.PathValue("name")}
	src, refused := r.hear(w, req, key)
	if refused != nil {
		return *refused
	}
	if err := r.turn(req.Context(), src.UID); err != nil {
		return answer{http.StatusTooManyRequests, resultLimited,
			"too many messages for this source; try again in a moment"}
	}
	if err := r.ask(req.Context(), src); err != nil {
		r.log.Error(err, "A push can't be passed on; the interval will find it", "source", key)
		return answer{http.StatusServiceUnavailable, resultFailed,
			"the cluster can't be asked right now; try again in a moment"}
	}
	return answer{http.StatusAccepted, resultAccepted, "the repository is fetched"}
}

// hear reads a message and gives the source that it asks a look for; or what it is
// answered instead. Nothing is kept of a message before there is a source for it.
func (r *Receiver) hear(w http.ResponseWriter, req *http.Request, key types.NamespacedName) (
	*v1alpha1.PolicySource, *answer) {
	const later = "the repository is fetched all the same, at its interval"
	if !r.all.AllowN(r.clock.Now(), 1) || !r.enter() {
		return nil, &answer{http.StatusTooManyRequests, resultLimited, "too many messages; " + later}
	}
	defer r.leave()
	src, token, why := r.addressed(req.Context(), key)
	body, err := read(http.MaxBytesReader(w, req.Body, maxMessageBytes), why == nil)
	if err != nil {
		return nil, &answer{http.StatusRequestEntityTooLarge, resultRefused,
			fmt.Sprintf("the message can't be read, or has more than %d bytes; %s", maxMessageBytes, later)}
	}
	if why == nil && !signed(req.Header, body, token) {
		why = errors.New("the signature is missing, or isn't made with the token")
	}
	if why != nil {
		r.log.Info("A message of a push is refused", "source", key, "why", why.Error())
		return nil, &answer{http.StatusForbidden, resultRefused,
			"there is no such source with a receiver, or the signature isn't made with its token"}
	}
	if why := irrelevant(req.Header, body, src.Spec.Ref); why != "" {
		return nil, &answer{http.StatusAccepted, resultIgnored, "ignored: " + why}
	}
	return src, nil
}

// enter begins to read a message, unless too many are being read.
func (r *Receiver) enter() bool {
	select {
	case r.underway <- struct{}{}:
		return true
	default:
		return false
	}
}

func (r *Receiver) leave() { <-r.underway }

// read reads a message to its end either way, since one that is answered sooner would
// tell that there is no such source.
func read(from io.Reader, keep bool) ([]byte, error) {
	if keep {
		return io.ReadAll(from)
	}
	_, err := io.Copy(io.Discard, from)
	return nil, err
}

// addressed finds the source that a message is for, and its token.
func (r *Receiver) addressed(ctx context.Context, key types.NamespacedName) (
	src *v1alpha1.PolicySource, token []byte, err error) {
	src = &v1alpha1.PolicySource{}
	if !r.allowed.Has(key.Namespace) {
		return nil, nil, errors.New("sources of this namespace aren't accepted")
	}
	if err := r.client.Get(ctx, key, src); err != nil {
		return nil, nil, err
	}
	if src.Spec.Receiver == nil {
		return nil, nil, errors.New("the source has no spec.receiver")
	}
	secret := src.Spec.Receiver.SecretRef.Name
	values, err := r.secrets.Read(ctx, key.Namespace, secret, "spec.receiver.secretRef")
	if err != nil {
		return nil, nil, err
	}
	if len(values[tokenKey]) == 0 {
		return nil, nil, fmt.Errorf("the key %s of Secret %s is missing or empty", tokenKey, secret)
	}
	return src, values[tokenKey], nil
}

// turn waits until the source may be asked for again, but not for long.
func (r *Receiver) turn(ctx context.Context, uid types.UID) error {
	r.mu.Lock()
	limiter := r.each[uid]
	if limiter == nil {
		limiter = rate.NewLimiter(perSource, 2)
		r.each[uid] = limiter
	}
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return limiter.Wait(ctx)
}

func (r *Receiver) ask(ctx context.Context, src *v1alpha1.PolicySource) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{
		v1alpha1.AnnotationReconcile: "push-" + r.clock.Now().UTC().Format(time.RFC3339Nano)}}})
	if err != nil {
		return fmt.Errorf("encode the annotation: %w", err)
	}
	return r.client.Patch(ctx, src.DeepCopy(), client.RawPatch(types.MergePatchType, patch),
		client.FieldOwner(v1alpha1.FieldManager))
}
