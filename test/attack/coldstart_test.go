// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/cluster"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

// onlyRefused and onlyKept refuse nothing but what asks for it: what is refused while
// nobody answers is refused because nobody answers.
const (
	onlyRefused = `package fixture.coldstart

import rego.v1

deny contains {"msg": "the label asks for it"} if input.object.metadata.labels.coldstart == "refuse"
`
	onlyKept = `package fixture.coldstart

import rego.v1

deny contains {"msg": "the label keeps it"} if input.object.metadata.labels.coldstart == "keep"
`
)

const (
	coldFinalizer = "example.com/held"
	coldLabel     = "coldstart.example.com/node"
	unanswered    = "failed calling webhook"
)

var _ = Describe("A cluster that starts while no manager answers", func() {
	It("comes back by itself, though policies that fail closed match every kind, and stays shut for everybody else",
		func(ctx context.Context) {
			attempt(
				"stop all nodes and every replica, and have policies that fail closed on every kind keep the cluster " +
					"from starting")
			namespace, doomed := suite.Namespace(ctx, "coldstart"), suite.Namespace(ctx, "coldstart-doomed")
			before := prepareColdStart(ctx, namespace, doomed)

			Expect(manager.Kill()).To(Succeed())
			DeferCleanup(func(ctx context.Context) {
				if !manager.Running() {
					Expect(manager.Start(ctx)).To(Succeed())
					suite.AwaitAdmission(ctx)
				}
			})
			for i := range before.nodes {
				Expect(suite.API.Delete(ctx, &before.nodes[i])).To(Succeed())
			}
			for _, component := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
				Expect(suite.Component(ctx, "restart", component)).To(Succeed())
			}
			nodesJoin(ctx, before.nodes)
			certificatesAreApproved(ctx)
			for _, system := range []string{"kube-system", rig.SystemNamespace} {
				workloadStarts(ctx, system)
			}
			ownObjectsAreWritten(ctx)
			deletionsEnd(ctx, doomed, before.held)
			jobsFinish(ctx, before.job)
			othersAreRefused(ctx, namespace)

			By("starting the manager, which judges again")
			Expect(manager.Start(ctx)).To(Succeed())
			suite.AwaitAdmission(ctx)
			refused := fixture.ConfigMap(namespace, "refused")
			refused.Labels["coldstart"] = "refuse"
			awaitRefusal(ctx, refused, ContainSubstring("the label asks for it"))
			Expect(suite.API.Create(ctx, fixture.ConfigMap(namespace, "fine"))).To(Succeed())
		})
})

// coldCluster is what was there before all stopped.
type coldCluster struct {
	nodes []corev1.Node
	// job waits for a node with coldLabel.
	job *batchv1.Job
	// held is being deleted and has a finalizer.
	held *corev1.ConfigMap
}

func prepareColdStart(ctx context.Context, namespace, doomed string) coldCluster {
	GinkgoHelper()
	// As kubeadm sets up: who has a bootstrap token may ask for a node's certificate.
	for _, role := range []string{
		"system:node-bootstrapper", "system:certificates.k8s.io:certificatesigningrequests:nodeclient"} {
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{GenerateName: "coldstart-"},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{
				{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:bootstrappers"}}}
		suite.Create(ctx, binding)
		DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, binding)).To(Succeed()) })
	}
	held := fixture.ConfigMap(namespace, "held")
	held.Finalizers = []string{coldFinalizer, "example.com/other"}
	job := &batchv1.Job{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, NodeSelector: map[string]string{coldLabel: "yes"},
		Containers: []corev1.Container{{Name: "work", Image: "example.com/work:1"}}}}}}
	job.Namespace, job.Name = namespace, "work"
	suite.Create(ctx, held, job, fixture.Deployment(doomed, "web"), fixture.ConfigMap(doomed, "config"))
	Expect(suite.API.Delete(ctx, held)).To(Succeed())
	Eventually(ctx, func(g Gomega) {
		pods := &corev1.PodList{}
		g.Expect(suite.API.List(ctx, pods, client.InNamespace(namespace))).To(Succeed())
		g.Expect(pods.Items).To(HaveLen(1))
		g.Expect(suite.API.List(ctx, pods, client.InNamespace(doomed),
			client.MatchingFields{"status.phase": "Running"})).To(Succeed())
		g.Expect(pods.Items).NotTo(BeEmpty())
	}).Should(Succeed())
	nodes := &corev1.NodeList{}
	Expect(suite.API.List(ctx, nodes)).To(Succeed())
	coldPolicies(ctx, namespace)
	return coldCluster{nodes: nodes.Items, job: job, held: held}
}

// coldPolicies match whatever can be matched, and every deletion but a namespace's.
func coldPolicies(ctx context.Context, namespace string) {
	GinkgoHelper()
	critical := func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Severity = v1alpha1.SeverityCritical }
	closed := []fixture.PolicyModifier{critical, fixture.Enforced(v1alpha1.AdmissionDeny),
		fixture.OnFailure(v1alpha1.FailurePolicyFail), fixture.Unselected}
	writes := fixture.Policy("coldstart-writes", namespace, onlyRefused, append(closed, everyKind())...)
	deletions := fixture.Policy("coldstart-deletions", namespace, onlyKept,
		append(closed, everyKind("Namespace"), fixture.On(v1alpha1.OperationDelete))...)
	suite.CreatePolicy(ctx, writes)
	suite.CreatePolicy(ctx, deletions)
	refused := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "refused", Labels: map[string]string{"coldstart": "refuse"}}}
	awaitRefusal(ctx, refused, ContainSubstring("the label asks for it"))
	// Both are in force before the manager is killed, and not only the first of them.
	kept := fixture.ConfigMap(namespace, "kept")
	kept.Labels["coldstart"] = "keep"
	suite.Create(ctx, kept)
	Eventually(ctx, func() error { return suite.API.Delete(ctx, kept, client.DryRunAll) }).Should(
		MatchError(ContainSubstring("the label keeps it")))
}

// everyKind matches what can be written, but what no policy can match.
func everyKind(but ...string) fixture.PolicyModifier {
	GinkgoHelper()
	found, err := discovery.NewDiscoveryClientForConfig(suite.Config())
	Expect(err).NotTo(HaveOccurred())
	lists, err := found.ServerPreferredResources()
	Expect(err).NotTo(HaveOccurred())
	kinds := map[string][]string{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		Expect(err).NotTo(HaveOccurred())
		for _, resource := range list.APIResources {
			writable, err := ContainElement("create").Match([]string(resource.Verbs))
			Expect(err).NotTo(HaveOccurred())
			skipped, err := ContainElement(resource.Kind).Match(append(but, "Lease"))
			Expect(err).NotTo(HaveOccurred())
			if writable && !skipped {
				kinds[version.Group] = append(kinds[version.Group], resource.Kind)
			}
		}
	}
	for _, group := range []string{"evenkeel.dev", "authentication.k8s.io", "authorization.k8s.io",
		"admissionregistration.k8s.io"} {
		delete(kinds, group)
	}
	return func(p *v1alpha1.ClusterRegoPolicy) {
		p.Spec.Match = v1alpha1.Match{}
		for group, names := range kinds {
			p.Spec.Match.Kinds = append(
				p.Spec.Match.Kinds, v1alpha1.KindMatch{APIGroups: []string{group}, Kinds: names})
		}
	}
}

// identity is a client of one of the cluster's own users.
func identity(user string, groups ...string) client.Client {
	GinkgoHelper()
	config := suite.Config()
	config.Impersonate.UserName, config.Impersonate.Groups = user, append(groups, "system:authenticated")
	scheme, err := cluster.Scheme()
	Expect(err).NotTo(HaveOccurred())
	api, err := client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	return api
}

func controllerOf(name string) client.Client {
	GinkgoHelper()
	return identity("system:serviceaccount:kube-system:"+name, "system:serviceaccounts",
		"system:serviceaccounts:kube-system")
}

func nodesJoin(ctx context.Context, nodes []corev1.Node) {
	GinkgoHelper()
	By("registering nodes, their leases, drivers and static Pods")
	for _, was := range nodes {
		kubelet := identity("system:node:"+was.Name, "system:nodes")
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: was.Name, Annotations: was.Annotations, Labels: was.Labels}}
		node.Status.Capacity, node.Status.Allocatable = was.Status.Capacity, was.Status.Allocatable
		Expect(kubelet.Create(ctx, node)).To(Succeed())
		lease := &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: was.Name}}
		Expect(client.IgnoreAlreadyExists(kubelet.Create(ctx, lease))).To(Succeed())
		Expect(kubelet.Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: "ann",
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Verb: "get", Resource: "nodes"}}})).To(Succeed())
		Expect(kubelet.Create(ctx,
			&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: "none"}})).To(Succeed())
		driver := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: was.Name}}
		Expect(kubelet.Create(ctx, driver)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, driver)).To(Succeed()) })
		mirror := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "static-" + was.Name,
				Annotations: map[string]string{"kubernetes.io/config.mirror": "x"}},
			Spec: corev1.PodSpec{NodeName: was.Name,
				Containers: []corev1.Container{{Name: "a", Image: "example.com/a:1"}}}}
		Expect(kubelet.Create(ctx, mirror)).To(Succeed())
		Expect(kubelet.Delete(ctx, mirror, client.GracePeriodSeconds(0))).To(Succeed())
	}
	attached := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{GenerateName: "coldstart-"},
		Spec: storagev1.VolumeAttachmentSpec{Attacher: "example.com", NodeName: nodes[0].Name,
			Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new(string)}}}
	*attached.Spec.Source.PersistentVolumeName = "data"
	Expect(controllerOf("attachdetach-controller").Create(ctx, attached)).To(Succeed())
	Expect(suite.API.SubResource("token").Create(
		ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "default"}},
		&authenticationv1.TokenRequest{})).To(Succeed())
	Eventually(ctx, func(g Gomega) {
		list := &corev1.NodeList{}
		g.Expect(suite.API.List(ctx, list)).To(Succeed())
		for _, n := range list.Items {
			g.Expect(n.Spec.Taints).To(BeEmpty(), "the controllers take the taint off")
		}
	}).Should(Succeed())
}

func certificatesAreApproved(ctx context.Context) {
	GinkgoHelper()
	By("asking for a node's certificate with a bootstrap token")
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	Expect(err).NotTo(HaveOccurred())
	der, err := x509.CreateCertificateRequest(
		rand.Reader, &x509.CertificateRequest{
			Subject: pkix.Name{CommonName: "system:node:fresh", Organization: []string{"system:nodes"}}}, key)
	Expect(err).NotTo(HaveOccurred())
	request := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{GenerateName: "coldstart-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment,
				certificatesv1.UsageClientAuth}}}
	Expect(identity("system:bootstrap:abcdef", "system:bootstrappers").Create(ctx, request)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, request)).To(Succeed()) })
	Eventually(ctx, func(g Gomega) {
		g.Expect(suite.Get(ctx, request)).To(Succeed())
		g.Expect(request.Status.Conditions).To(ContainElement(HaveField("Type", certificatesv1.CertificateApproved)))
	}).Should(Succeed())
}

func workloadStarts(ctx context.Context, namespace string) {
	GinkgoHelper()
	By("starting a workload in " + namespace)
	web := fixture.Deployment(namespace, "coldstart")
	suite.Create(ctx, web)
	DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, web)).To(Succeed()) })
	Eventually(ctx, func(g Gomega) {
		g.Expect(suite.Get(ctx, web)).To(Succeed())
		g.Expect(web.Status.ReadyReplicas).To(BeEquivalentTo(*web.Spec.Replicas))
	}).Should(Succeed())
}

func ownObjectsAreWritten(ctx context.Context) {
	GinkgoHelper()
	By("writing what Evenkeel itself needs")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: rig.SystemNamespace, Name: "coldstart"}}
	suite.Create(ctx, secret)
	Expect(suite.API.Delete(ctx, secret)).To(Succeed())
	own := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "clusterregopolicies.evenkeel.dev"}}
	rig.Update(ctx, suite.API, own, func() {
		metav1.SetMetaDataAnnotation(&own.ObjectMeta, "coldstart.example.com/upgraded", "yes")
	})
}

func deletionsEnd(ctx context.Context, doomed string, held *corev1.ConfigMap) {
	GinkgoHelper()
	By("taking the finalizer off an object that is being deleted, which nobody else may change")
	Expect(suite.Get(ctx, held)).To(Succeed())
	changed := held.DeepCopy()
	changed.Finalizers, changed.Data["state"] = changed.Finalizers[1:], "changed"
	Expect(suite.API.Update(ctx, changed)).To(MatchError(ContainSubstring(unanswered)))
	rig.Update(ctx, suite.API, held, func() { held.Finalizers = nil })
	Expect(apierrors.IsNotFound(suite.Get(ctx, held))).To(BeTrue())

	By("deleting a namespace with all that is in it")
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: doomed}}
	Expect(suite.API.Delete(ctx, ns)).To(Succeed())
	Eventually(ctx, func() bool { return apierrors.IsNotFound(suite.Get(ctx, ns)) }).Should(BeTrue())
}

func jobsFinish(ctx context.Context, job *batchv1.Job) {
	GinkgoHelper()
	By("letting a Job finish")
	nodes := &corev1.NodeList{}
	Expect(suite.API.List(ctx, nodes)).To(Succeed())
	node := &nodes.Items[0]
	rig.Update(ctx, suite.API, node, func() { metav1.SetMetaDataLabel(&node.ObjectMeta, coldLabel, "yes") })
	Eventually(ctx, func(g Gomega) {
		g.Expect(suite.Get(ctx, job)).To(Succeed())
		g.Expect(job.Status.Succeeded).To(BeEquivalentTo(1))
		g.Expect(job.Status.Conditions).To(ContainElement(HaveField("Type", batchv1.JobComplete)))
		pods := &corev1.PodList{}
		g.Expect(suite.API.List(ctx, pods, client.InNamespace(job.Namespace))).To(Succeed())
		g.Expect(pods.Items).To(HaveEach(HaveField("Finalizers", BeEmpty())))
	}).Should(Succeed())
}

// othersAreRefused tries what looks like an exemption and isn't.
func othersAreRefused(ctx context.Context, namespace string) {
	GinkgoHelper()
	By("refusing everything else")
	bare := corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "example.com/a:1"}}}
	mirror := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "mirror", Annotations: map[string]string{"kubernetes.io/config.mirror": "x"}},
		Spec: bare}
	mirror.Spec.NodeName = "node-1"
	replicas := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "replica"}, Spec: bare}
	authority := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "kube-root-ca.crt"}}
	Expect(suite.Get(ctx, authority)).To(Succeed())
	authority.Data["ca.crt"] = "forged"
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "kept"}}
	finalizing := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "kept"}}
	Expect(suite.Get(ctx, finalizing)).To(Succeed())
	finalizing.Labels = nil
	for _, attempted := range []struct {
		what string
		err  error
	}{
		{"a ConfigMap", suite.API.Create(ctx, fixture.ConfigMap(namespace, "new"))},
		{"a mirror Pod by a person", suite.API.Create(ctx, mirror)},
		{"a Pod by the controller of replicas", controllerOf("replicaset-controller").Create(ctx, replicas)},
		{"a Pod in the name of a node", identity("system:node:node-1", "system:nodes").Create(ctx, replicas)},
		{"the cluster's authority, by a person", suite.API.Update(ctx, authority)},
		{"a deletion", suite.API.Delete(ctx, kept)},
		{"a change of what isn't being deleted", suite.API.Update(ctx, finalizing)},
		{"a deletion by the garbage collector", controllerOf("generic-garbage-collector").Delete(ctx, kept)},
		{"a ClusterRole", suite.API.Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "coldstart"}})},
		{"a namespace", suite.API.Create(
			ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "coldstart-"}})},
	} {
		Expect(attempted.err).To(MatchError(ContainSubstring(unanswered)), attempted.what)
	}
}
