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
	// maxMessageBytes is more than any host sends of a push.
	maxMessageBytes = 8 << 20
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

	mu   sync.Mutex
	each map[types.UID]*rate.Limiter
}

// ServeHTTP answers one message. Whoever doesn't know the token learns nothing: a
// source that isn't there, has no receiver, or another token answers the same.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	code, result, text := r.take(w, req)
	r.metrics.received(result)
	http.Error(w, text, code)
}

func (r *Receiver) take(w http.ResponseWriter, req *http.Request) (code int, result, text string) {
	if !r.all.AllowN(r.clock.Now(), 1) {
		return http.StatusTooManyRequests, resultLimited,
			"too many messages; the repository is fetched all the same, at its interval"
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxMessageBytes))
	if err != nil {
		return http.StatusRequestEntityTooLarge, resultRefused,
			fmt.Sprintf("the message can't be read, or has more than %d bytes", maxMessageBytes)
	}
	key := types.NamespacedName{Namespace: req.PathValue("namespace"), Name: req.PathValue("name")}
	src, err := r.authentic(req, key, body)
	if err != nil {
		r.log.Info("A message of a push is refused", "source", key, "why", err.Error())
		return http.StatusForbidden, resultRefused,
			"there is no such source with a receiver, or the signature isn't made with its token"
	}
	if why := irrelevant(req.Header, body, src.Spec.Ref); why != "" {
		return http.StatusAccepted, resultIgnored, "ignored: " + why
	}
	if err := r.turn(req.Context(), src.UID); err != nil {
		return http.StatusTooManyRequests, resultLimited, "too many messages for this source; try again in a moment"
	}
	if err := r.ask(req.Context(), src); err != nil {
		r.log.Error(err, "A push can't be passed on; the interval will find it", "source", key)
		return http.StatusServiceUnavailable, resultFailed,
			"the cluster can't be asked right now; try again in a moment"
	}
	return http.StatusAccepted, resultAccepted, "the repository is fetched"
}

// authentic finds the source that a message is for, if the message is signed with
// its token.
func (r *Receiver) authentic(req *http.Request, key types.NamespacedName, body []byte) (*v1alpha1.PolicySource, error) {
	src := &v1alpha1.PolicySource{}
	if !r.allowed.Has(key.Namespace) {
		return nil, errors.New("sources of this namespace aren't accepted")
	}
	if err := r.client.Get(req.Context(), key, src); err != nil {
		return nil, err
	}
	if src.Spec.Receiver == nil {
		return nil, errors.New("the source has no spec.receiver")
	}
	values, err := r.secrets.Read(req.Context(), key.Namespace, src.Spec.Receiver.SecretRef.Name,
		"spec.receiver.secretRef")
	if err != nil {
		return nil, err
	}
	if len(values[tokenKey]) == 0 {
		return nil, fmt.Errorf("the key %s of Secret %s is missing or empty", tokenKey,
			src.Spec.Receiver.SecretRef.Name)
	}
	if !signed(req.Header, body, values[tokenKey]) {
		return nil, errors.New("the signature is missing, or isn't made with the token")
	}
	return src, nil
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

// ask changes the annotation that asks for a look.
func (r *Receiver) ask(ctx context.Context, src *v1alpha1.PolicySource) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{
		v1alpha1.AnnotationReconcile: "push-" + r.clock.Now().UTC().Format(time.RFC3339Nano)}}})
	if err != nil {
		return fmt.Errorf("encode the annotation: %w", err)
	}
	return r.client.Patch(ctx, src.DeepCopy(), client.RawPatch(types.MergePatchType, patch),
		client.FieldOwner(v1alpha1.FieldManager))
}
