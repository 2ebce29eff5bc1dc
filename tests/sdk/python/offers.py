"""offers.py -- throughput: given, read, replaced, shared."""
from azure.cosmos import PartitionKey, ThroughputProperties

from harness import case, equal, fails

PK = PartitionKey(path="/pk")


def add(client):
    @case("throughput is given, read and replaced")
    def _():
        database = client.create_database("py-offers")
        container = database.create_container("c", PK, offer_throughput=500)
        offer = container.get_throughput()
        equal(offer.offer_throughput, 500)
        equal(offer.properties["resource"], container.read()["_self"])
        equal(container.replace_throughput(900).offer_throughput, 900)
        equal(container.get_throughput().offer_throughput, 900)
        fails(400, container.replace_throughput, 450)
        equal(database.create_container("d", PK).get_throughput()
              .offer_throughput, 400)

    @case("autoscale is given, read and replaced")
    def _():
        database = client.create_database("py-autoscale")
        wish = ThroughputProperties(auto_scale_max_throughput=4000,
                                    auto_scale_increment_percent=2)
        container = database.create_container("c", PK, offer_throughput=wish)
        offer = container.get_throughput()
        equal(offer.auto_scale_max_throughput, 4000)
        equal(offer.auto_scale_increment_percent, 2)
        container.replace_throughput(ThroughputProperties(
            auto_scale_max_throughput=7000, auto_scale_increment_percent=20))
        offer = container.get_throughput()
        equal(offer.auto_scale_max_throughput, 7000)
        equal(offer.auto_scale_increment_percent, 20)
        error = fails(400, database.create_container, "bad", PK,
                      offer_throughput=ThroughputProperties(
                          auto_scale_max_throughput=-200))
        assert ("Requested throughput -200 is less than required minimum "
                "throughput 1000") in error.message, error.message

    @case("a database shares its throughput")
    def _():
        database = client.create_database("py-shared", offer_throughput=600)
        equal(database.get_throughput().offer_throughput, 600)
        equal(database.replace_throughput(800).offer_throughput, 800)
        equal(database.get_throughput().offer_throughput, 800)
