// node check_job.mjs FILE: whether a job is one that Kubernetes takes, by the schema of its API. Exit status 1, and why, when it is not.
import {readFileSync} from "node:fs";
import yaml from "js-yaml";
import {Job} from "kubernetes-models/batch/v1";

try {
  new Job(yaml.load(readFileSync(process.argv[2], "utf8"))).validate();
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
