package labels

violation[{"msg": "labels"}] {
	wanted := {"app.kubernetes.io/name", "app.kubernetes.io/part-of", "team"}
	label := wanted[_]
	not input.review.object.metadata.labels[label]
}
