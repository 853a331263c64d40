// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

// shortest is the shortest interval that a source may have.
const shortest = 10 * time.Second

// tell sends a message of a push as GitHub does, and gives the answer.
func tell(ctx context.Context, namespace, name, body, token string) (code int, answer string) {
	GinkgoHelper()
	req, err := http.NewRequestWithContext(
		ctx, http.MethodPost, fmt.Sprintf("http://%s/hook/%s/%s", receiver, namespace, name), strings.NewReader(body))
	Expect(err).NotTo(HaveOccurred())
	mac := hmac.New(sha256.New, []byte(token))
	_, _ = mac.Write([]byte(body))
	req.Header.Set("X-GitHub-Event", "push")
	req.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	resp, err := http.DefaultClient.Do(req)
	Expect(err).NotTo(HaveOccurred())
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	Expect(err).NotTo(HaveOccurred())
	return resp.StatusCode, string(text)
}

var _ = Describe("A policy source", func() {
	It("looks at once when a push is told of, and believes nobody without the token", func(ctx context.Context) {
		const token, push = "the token of a test", `{"ref":"refs/heads/main"}`
		ns := suite.Namespace(ctx, "srcpush")
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: rig.SystemNamespace, Name: ns + "-token"},
			Data: map[string][]byte{"token": []byte(token)}}
		suite.Create(ctx, secret)
		DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, secret)).To(Succeed()) })
		source := suite.NewSource(ctx, ns, rig.PolicyFiles(ns, ns, "bad"), func(src *v1alpha1.PolicySource) {
			src.Spec.Receiver = &v1alpha1.SourceReceiver{SecretRef: v1alpha1.SecretReference{Name: secret.Name}}
		})
		source.AwaitReason(ctx, v1alpha1.ReasonApplied)
		commit := source.Replace(rig.PolicyFiles(ns, ns, "worse"))

		source.Server.Seen()
		wrongCode, wrong := tell(ctx, rig.SystemNamespace, ns, push, "a guess")
		unknownCode, unknown := tell(ctx, rig.SystemNamespace, "nobody", push, token)
		Expect(wrongCode).To(Equal(http.StatusForbidden))
		Expect([]any{unknownCode, unknown}).To(Equal([]any{wrongCode, wrong}))
		code, answer := tell(ctx, rig.SystemNamespace, ns, `{"ref":"refs/heads/other"}`, token)
		Expect(code).To(Equal(http.StatusAccepted))
		Expect(answer).To(HavePrefix("ignored"))
		Expect(suite.Get(ctx, source.PolicySource)).To(Succeed())
		Expect(source.Annotations).NotTo(HaveKey(v1alpha1.AnnotationReconcile))
		Expect(source.Server.Seen()).To(BeEmpty())

		code, answer = tell(ctx, rig.SystemNamespace, ns, push, token)
		Expect(code).To(Equal(http.StatusAccepted), answer)
		source.AwaitCommit(ctx, commit)
		code, _ = tell(ctx, rig.SystemNamespace, ns, push, token)
		Expect(code).To(Equal(http.StatusAccepted), "a message that is sent again does no harm")
		source.AwaitCommit(ctx, commit)
	})

	It("brings hundreds of policies into force as one", long, rig.Large, func(ctx context.Context) {
		manyPolicies := rig.Many(100, 500)
		ns := suite.Namespace(ctx, "srcmany")
		files := map[string]string{}
		for i := range manyPolicies {
			files = rig.Files(files, rig.PolicyFiles(fmt.Sprintf("%s-%03d", ns, i), ns, fmt.Sprintf("bad-%d", i)))
		}
		start := time.Now()
		source := suite.NewSource(ctx, ns, files)
		Eventually(ctx, func(g Gomega) {
			g.Expect(suite.Get(ctx, source.PolicySource)).To(Succeed())
			g.Expect(rig.ReadyOf(source.PolicySource).Reason).To(
				Equal(v1alpha1.ReasonApplied), rig.ReadyOf(source.PolicySource).Message)
		}).WithTimeout(5 * time.Minute).Should(Succeed())
		applied := time.Since(start)
		Expect(source.Status.Policies).To(BeEquivalentTo(manyPolicies))
		awaitState(ctx, ns, manyPolicies-1)
		AddReportEntry("applied",
			fmt.Sprintf("after %s, the last one enforced after %s", applied.Round(time.Millisecond),
				time.Since(start).Round(time.Millisecond)))

		mark := len(manager.Proxy.Writes())
		start = time.Now()
		source.Ask(ctx)
		Expect(policyWrites(mark)).To(BeZero())
		AddReportEntry("nothing new, looked at after", time.Since(start).Round(time.Millisecond).String())
	})
})

// awaitState waits until the policy of a number is enforced.
func awaitState(ctx context.Context, namespace string, number int) {
	GinkgoHelper()
	object := fixture.ConfigMap(namespace, "one", state(fmt.Sprintf("bad-%d", number)))
	awaitRefusal(ctx, object, ContainSubstring("state must not be bad-%d", number))
}
