// Writes what Zigbee2MQTT announces to Home Assistant for one device of every model that it knows: a topic and a payload
// to a line of JSON. Usage: node zigbee2mqtt_corpus.js NODE_MODULES DATA_FOLDER > corpus.jsonl
"use strict";
const fs = require("node:fs");
const path = require("node:path");

const [, , modules, data] = process.argv;
const from = (name) => require(path.join(modules, name));
process.env.ZIGBEE2MQTT_DATA = data;
fs.writeFileSync(
    path.join(data, "configuration.yaml"),
    [
        "version: 5",
        "mqtt: {base_topic: zigbee2mqtt, server: 'mqtt://127.0.0.1'}",
        "serial: {port: /dev/null}",
        "homeassistant: {enabled: true, experimental_event_entities: true, legacy_action_sensor: true}",
        "advanced: {last_seen: ISO_8601, log_output: []}",
        "availability: {enabled: true}",
    ].join("\n"),
);
const converters = from("zigbee-herdsman-converters");
from("zigbee2mqtt/dist/util/settings").reRead();
from("zigbee2mqtt/dist/util/logger").default.init();
const extension = from("zigbee2mqtt/dist/extension/homeassistant.js");
const HomeAssistant = extension.HomeAssistant ?? extension.default;

const lines = [];
const mqtt = { publish: async (topic, payload, { baseTopic }) => lines.push(JSON.stringify([`${baseTopic}/${topic}`, payload])) };
const coordinator = { type: "x", meta: { revision: 1 } };
const zigbee = { firstCoordinatorEndpoint: () => ({ deviceIeeeAddress: "0x0" }) };

function entity(definition, number) {
    const address = `0x${number.toString(16).padStart(16, "0")}`;
    return {
        isDevice: () => true,
        isGroup: () => false,
        name: `device ${number}`,
        ID: address,
        ieeeAddr: address,
        zh: { endpoints: [], softwareBuildID: "1", hardwareVersion: 1, ieeeAddr: address, meta: {} },
        definition,
        interviewed: true,
        options: { ID: address },
        exposes: () =>
            typeof definition.exposes === "function" ? definition.exposes({ isDummyDevice: true }, {}) : definition.exposes,
        endpoint: () => undefined,
        endpointName: () => undefined,
    };
}

async function main() {
    const announcing = new HomeAssistant(zigbee, mqtt, { get: () => ({}) }, null, null, null, null, null);
    announcing.zigbee2MQTTVersion = "2";
    announcing.discoveryOrigin = { name: "Zigbee2MQTT", sw: "2", url: "https://www.zigbee2mqtt.io" };
    announcing.bridge = announcing.getBridgeEntity(coordinator);
    announcing.bridgeIdentifier = announcing.getDevicePayload(announcing.bridge).identifiers[0];
    await announcing.discover(announcing.bridge);
    const folder = path.join(path.dirname(require.resolve(path.join(modules, "zigbee-herdsman-converters"))), "devices");
    let number = 0;
    for (const file of fs.readdirSync(folder).filter((each) => each.endsWith(".js") && each !== "index.js").sort()) {
        for (const definition of require(path.join(folder, file)).definitions ?? []) {
            number += 1;
            await announcing.discover(entity(converters.prepareDefinition(definition), number));
        }
    }
    process.stdout.write(`${lines.join("\n")}\n`, () => process.exit(0));
}

main();
