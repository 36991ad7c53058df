# 183 issues of one project, 89 of them assigned to jo.
password = ARGV.fetch(0)
PARTS = %w[Crane Winch Gate Pump Rail Pontoon Ladder Buoy Cable Lamp].freeze
FAULTS = ['leaks', 'sticks', 'needs paint', 'is noisy', 'fails inspection', 'must be moved', 'is missing a bolt'].freeze

Redmine::DefaultData::Loader.load('en')
Setting.rest_api_enabled = '1'
Setting.per_page_options = '25,50,100'

project = Project.create!(name: 'Dock Works', identifier: 'dock', is_public: true, enabled_module_names: ['issue_tracking'])
project.trackers = Tracker.all
jo = User.new(firstname: 'Jo', lastname: 'Marsh', mail: 'jo@example.org')
jo.login = 'jo'
jo.password = jo.password_confirmation = password
jo.save!
Member.create!(project: project, user_id: jo.id, roles: [Role.givable.first])

trackers, priorities, statuses = Tracker.all.to_a, IssuePriority.all.to_a, IssueStatus.where(is_closed: false).to_a
first_day = Time.utc(2026, 1, 5, 9, 30)
(1..183).each do |number|
  special = number % 13 == 0 ? ' <urgent> & "now"' : ''
  issue = Issue.new(
    project: project, author: jo, subject: "#{PARTS[number % 10]} #{number} #{FAULTS[number % 7]}#{special}",
    tracker: trackers[number % trackers.size], priority: priorities[number / 7 % priorities.size],
    status: statuses[number / 3 % statuses.size], description: "Found at berth #{number % 40}.",
    done_ratio: number % 11 * 10
  )
  # 91 even numbers, without 90 and 180.
  issue.assigned_to = jo if number.even? && number % 90 != 0
  issue.due_date = Date.new(2027, 1, 1) + number if number % 5 < 2
  issue.save!
  issue.update_columns(created_on: first_day + number * 3600, updated_on: first_day + number * 86_400)
end
