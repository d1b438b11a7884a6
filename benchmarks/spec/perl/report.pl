#!/usr/bin/perl
# Read the log of a web server ("combined" format) and print a report: the work of the perl benchmark.
#
#     perl report.pl access.log
#
# The script needs core perl 5.10 or later. Every list is sorted with ties broken by name, all sums are integers, and
# no result depends on the order of a hash. The report is therefore identical with every perl, architecture and locale.
use strict;
use warnings;

use constant SESSION_GAP_S => 1800;    # a client that returns later starts a new session
use constant TOP           => 10;

my %MONTH_START;                       # days of 2024 before a month
{
    my $days = 0;
    my @lengths = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31);
    for my $name (qw(Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec)) {
        $MONTH_START{$name} = $days;
        $days += shift @lengths;
    }
}

my $LINE = qr{
    ^ (\d+\.\d+\.\d+\.\d+) [ ] \S+ [ ] \S+ [ ]
    \[ (\d\d) / ([A-Z][a-z]{2}) / \d{4} : (\d\d) : (\d\d) : (\d\d) [ ] [+-]\d{4} \] [ ]
    "([A-Z]+) [ ] (\S+) [ ] HTTP/[\d.]+" [ ]
    (\d{3}) [ ] (\d+) [ ]
    "([^"]*)" [ ] "([^"]*)" $
}x;

sub agent_family {
    my ($agent) = @_;
    return 'none'       if $agent eq '-';
    return 'robot'      if $agent =~ /bot|crawler|spider/i;
    return "Firefox $1" if $agent =~ m{Firefox/(\d+)};
    return "Chrome $1"  if $agent =~ m{Chrome/(\d+)};
    return "Safari $1"  if $agent =~ m{Version/(\d+).*Safari/};
    return "tool $1"    if $agent =~ m{^(\w+)/\d};
    return 'other';
}

sub unescape {
    my ($text) = @_;
    $text =~ tr/+/ /;
    $text =~ s/%([0-9A-Fa-f]{2})/chr hex $1/ge;
    return $text;
}

# Count words and pairs of neighbors in search queries.
sub count_terms {
    my ($found, $query) = @_;
    my ($asked) = $query =~ /(?:^|&)q=([^&]*)/ or return;
    my @terms = grep { length } split /[^a-z]+/, lc unescape($asked);
    $found->{term}{$_}++ for @terms;
    $found->{term_pair}{"$terms[$_ - 1] $terms[$_]"}++ for 1 .. $#terms;
    return;
}

# Count requests and sent bytes of every directory above a page.
sub count_directories {
    my ($found, $path, $bytes) = @_;
    my $directory = '';
    for my $part (split m{/}, $path) {
        next if $part eq '';
        $directory .= "/$part";
        $found->{directory}{$directory}++;
        $found->{directory_bytes}{$directory} += $bytes;
    }
    return;
}

sub count_line {
    my ($found, $line) = @_;
    my ($client, $day, $month, $hour, $minute, $second, $method, $target, $status, $bytes, $referer, $agent) =
        $line =~ $LINE;
    if (!defined $client) {
        $found->{malformed}++;
        return;
    }
    my ($path, $query) = split /\?/, $target, 2;
    my $time = (($MONTH_START{$month} + $day) * 24 + $hour) * 3600 + $minute * 60 + $second;

    $found->{requests}++;
    $found->{bytes} += $bytes;
    $found->{method}{$method}++;
    $found->{status}{$status}++;
    $found->{hour}{$hour}++;
    $found->{agent}{ agent_family($agent) }++;
    $found->{client_bytes}{$client} += $bytes;
    $found->{network}{$1}++ if $client =~ /^(\d+\.\d+)\./;
    $found->{missing}{$path}++ if $status eq '404';
    $found->{extension}{ $path =~ /\.(\w+)$/ ? lc $1 : '(none)' }++;
    $found->{size_class}{ length sprintf '%b', $bytes }++;
    $found->{transition}{"$1 -> $path"}++ if $referer =~ m{^https?://[^/]+(/\S*)};
    count_directories($found, $path, $bytes);
    count_terms($found, $query) if defined $query;
    push @{ $found->{visits}{$client} }, [$time, $path];
    return;
}

# Split the visits of each client at gaps; count the sessions by length, entry page and exit page.
sub count_sessions {
    my ($found) = @_;
    for my $visits (values %{ $found->{visits} }) {
        my @session;
        for my $visit ((sort { $a->[0] <=> $b->[0] || $a->[1] cmp $b->[1] } @$visits), undef) {
            if (@session && (!defined $visit || $visit->[0] - $session[-1][0] > SESSION_GAP_S)) {
                $found->{session_length}{ sprintf '%03d', scalar @session }++;
                $found->{entry}{ $session[0][1] }++;
                $found->{exit}{ $session[-1][1] }++;
                @session = ();
            }
            push @session, $visit if defined $visit;
        }
    }
    return;
}

sub print_top {
    my ($title, $counts) = @_;
    my @names = sort { $counts->{$b} <=> $counts->{$a} || $a cmp $b } keys %$counts;
    printf "\n%s (%d)\n", $title, scalar @names;
    my $last = $#names < TOP - 1 ? $#names : TOP - 1;
    printf "%12d  %s\n", $counts->{$_}, $_ for @names[0 .. $last];
    return;
}

sub print_all {
    my ($title, $counts) = @_;
    print "\n$title\n";
    printf "%12d  %s\n", $counts->{$_}, $_ for sort { $a cmp $b } keys %$counts;
    return;
}

die "usage: perl report.pl LOG\n" if @ARGV != 1;
open my $log, '<', $ARGV[0] or die "$ARGV[0]: $!\n";
my %found = (requests => 0, bytes => 0, malformed => 0);
while (my $line = <$log>) {
    chomp $line;
    count_line(\%found, $line);
}
close $log or die "$ARGV[0]: $!\n";
count_sessions(\%found);

printf "requests %d, bytes %d, malformed lines %d, clients %d\n",
    @found{qw(requests bytes malformed)}, scalar keys %{ $found{visits} };
print_all("By $_", $found{$_} // {}) for qw(method status hour extension session_length);
print_top("Most frequent: $_", $found{$_} // {})
    for qw(directory network agent term term_pair transition missing entry exit size_class);
print_top("Most bytes: $_", $found{"${_}_bytes"}) for grep { $found{"${_}_bytes"} } qw(directory client);
close STDOUT or die "standard output: $!\n";
