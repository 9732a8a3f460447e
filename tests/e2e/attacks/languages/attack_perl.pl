# What Perl programs do with processes and signals: attack_perl.pl CASE. The library that makes events is preloaded.
use strict;
use warnings;
use POSIX qw(:sys_wait_h _exit);

$| = 1;
my $case = shift @ARGV;
my $main = $$;
END { print "end of ", ($$ == $main ? "main" : "child"), " with $?\n" if $case; }

sub fork_often {
  for my $status (1 .. 10) {
    my $child = fork();
    exit($status) if $child == 0;
    waitpid($child, 0);
    print "child ", $? >> 8, "\n";
  }
}

sub handle_children {
  my $ended = 0;
  local $SIG{CHLD} = sub { $ended++ while waitpid(-1, WNOHANG) > 0 };
  for (1 .. 5) { _exit(2) if fork() == 0; }
  select(undef, undef, undef, 0.01) while $ended < 5;
  print "ended $ended\n";
}

sub kill_itself {
  my $heard = 0;
  local $SIG{TERM} = sub { $heard++ };
  kill 'TERM', $$ for 1 .. 3;
  select(undef, undef, undef, 0.05);
  print "heard ", ($heard > 0 ? "some" : "none"), "\n";
  $SIG{TERM} = 'DEFAULT';
  kill 'TERM', $$;
  sleep 10;
}

sub use_pipes {
  open(my $in, '-|', 'echo', 'one') or die;
  print "read ", <$in>;
  close $in;
  open(my $out, '|-', 'cat; exit 3') or die;
  print $out "two\n";
  close $out;
  print "ended ", $? >> 8, ", ", `echo three`;
}

my %cases = (
  fork => \&fork_often,
  exec => sub { exec 'sh', '-c', 'echo executed; exit 13' },
  kill => \&kill_itself,
  child_handler => \&handle_children,
  pipe => \&use_pipes,
  die => sub { die "not caught\n" },
  exit_now => sub { _exit(17) },
);
$cases{$case}->();
