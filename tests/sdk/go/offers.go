// offers.go -- throughput: given, read, replaced.
package main

import "github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

func manual(answer azcosmos.ThroughputResponse) int32 {
	units, _ := answer.ThroughputProperties.ManualThroughput()
	return units
}

func autoscale(answer azcosmos.ThroughputResponse) int32 {
	units, _ := answer.ThroughputProperties.AutoscaleMaxThroughput()
	return units
}

func testOffers(client *azcosmos.Client) {
	test("throughput is given, read and replaced", func() {
		database := newDatabase(client, "go-offers")
		container := newContainer(database, definition("c", 2, "/pk"))
		read := must(container.ReadThroughput(ctx, nil))
		equal(manual(read), int32(30000))
		equal(*read.MinThroughput, int32(400))
		equal(read.IsReplacePending, false)
		equal(manual(must(container.ReplaceThroughput(ctx,
			azcosmos.NewManualThroughputProperties(500), nil))), int32(500))
		equal(manual(must(container.ReadThroughput(ctx, nil))), int32(500))
		fails[azcosmos.ThroughputResponse](400, "")(container.ReplaceThroughput(
			ctx, azcosmos.NewManualThroughputProperties(450), nil))
	})
	test("autoscale is given, read and replaced", func() {
		wish := azcosmos.NewAutoscaleThroughputProperties(4000)
		must(client.CreateDatabase(ctx,
			azcosmos.DatabaseProperties{ID: "go-autoscale"},
			&azcosmos.CreateDatabaseOptions{ThroughputProperties: &wish}))
		database := must(client.NewDatabase("go-autoscale"))
		equal(autoscale(must(database.ReadThroughput(ctx, nil))), int32(4000))
		must(database.ReplaceThroughput(ctx,
			azcosmos.NewAutoscaleThroughputProperties(6000), nil))
		equal(autoscale(must(database.ReadThroughput(ctx, nil))), int32(6000))
		must(database.CreateContainer(ctx, definition("c", 2, "/pk"), nil))
		container := must(database.NewContainer("c"))
		fails[azcosmos.ThroughputResponse](404, "")(
			container.ReadThroughput(ctx, nil))
	})
}
