// What Node programs do with processes and threads while they annotate: attack_node.cjs CASE LIBRARY. Each load of the library makes
// 100 ranges in the thread that loads it.
const { fork, spawn, spawnSync } = require("node:child_process");
const cluster = require("node:cluster");
const { Worker, isMainThread, workerData } = require("node:worker_threads");

const [name, library] = isMainThread ? process.argv.slice(2) : workerData;
const work = () => process.dlopen({ exports: {} }, library);

function show(text) {
  process.stdout.write(`${text}\n`);
}

function childProcess() {
  work();
  for (const script of ["exit 3", "kill -TERM $$", "echo out; echo error >&2"]) {
    const done = spawnSync("sh", ["-c", script], { encoding: "utf8" });
    show([done.status, done.signal, done.stdout, done.stderr].join(" "));
  }
  const child = spawn("sh", ["-c", "ls /proc/self/fd | wc -l; exit 5"], { stdio: ["ignore", "inherit", "inherit"] });
  child.on("exit", (code) => show(`exit ${code}`));
}

function forkWithMessages() {
  work();
  const child = fork(__filename, ["answer", library]);
  child.on("message", (message) => {
    show(`answer ${message}`);
    child.send("end");
  });
  child.on("exit", (code) => show(`exit ${code}`));
  child.send("hello");
}

function answer() {
  work();
  process.on("message", (message) => (message === "end" ? process.exit(8) : process.send(message.toUpperCase())));
}

function workerThreads() {
  work();
  let left = 4;
  const codes = [];
  for (let i = 0; i < 4; ++i) {
    const worker = new Worker(__filename, { workerData: ["in_worker", library, i] });
    worker.on("exit", (code) => {
      codes.push(code);
      if (--left === 0) show(codes.sort().join(" "));
    });
  }
}

function inWorker() {
  work();
  process.exit(workerData[2]); // ends the thread
}

function withCluster() {
  work();
  if (cluster.isWorker) {
    process.on("message", (number) => {
      process.send(number * number);
      process.disconnect();
    });
    return;
  }
  const answers = [];
  for (let i = 1; i <= 2; ++i) {
    const worker = cluster.fork();
    worker.on("online", () => worker.send(i));
    worker.on("message", (number) => answers.push(number));
  }
  let left = 2;
  cluster.on("exit", () => --left === 0 && show(answers.sort().join(" ")));
}

function exitWithHandlers() {
  process.on("exit", (code) => show(`exit handler ${code}`));
  work();
  setInterval(() => {}, 1000);
  process.exit(12);
}

const cases = {
  child_process: childProcess,
  fork: forkWithMessages,
  answer,
  worker_threads: workerThreads,
  in_worker: inWorker,
  cluster: withCluster,
  exit: exitWithHandlers,
  uncaught: () => {
    work();
    throw new Error("not caught");
  },
  kill: () => {
    work();
    process.kill(process.pid, "SIGTERM");
    setInterval(() => {}, 1000);
  },
};
cases[name]();
